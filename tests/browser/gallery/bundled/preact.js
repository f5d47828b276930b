import { h, render } from "preact";
import { useEffect, useState } from "preact/hooks";
function App() {
  const [data, set] = useState();
  useEffect(() => { fetch("/json").then((r) => r.json()).then(set); }, []);
  return h("main", null, data ? data.text : "Loading …");
}
render(h(App), document.getElementById("root"));
