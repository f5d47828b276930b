import { createElement as h, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
function App() {
  const [data, set] = useState(null);
  useEffect(() => { fetch("/json").then((r) => r.json()).then(set); }, []);
  return data ? h("main", null, h("h1", null, "Otters"), h("p", null, data.text)) : h("p", null, "Loading …");
}
createRoot(document.getElementById("root")).render(h(App));
