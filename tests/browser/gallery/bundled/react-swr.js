import { createElement as h } from "react";
import { createRoot } from "react-dom/client";
import useSWR from "swr";
const get = (url) => fetch(url).then((r) => r.json());
function App() {
  const { data } = useSWR("/json", get);
  return h("main", null, data ? h("p", null, data.text) : "Loading …");
}
createRoot(document.getElementById("root")).render(h(App));
