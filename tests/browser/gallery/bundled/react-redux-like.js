import { createElement as h, useSyncExternalStore } from "react";
import { createRoot } from "react-dom/client";
import { legacy_createStore as createStore } from "redux";
const store = createStore((state = { text: "" }, action) => (action.type === "came" ? action.data : state));
function App() {
  const state = useSyncExternalStore(store.subscribe, store.getState);
  return h("main", null, h("p", null, state.text));
}
createRoot(document.getElementById("root")).render(h(App));
setTimeout(() => fetch("/json").then((r) => r.json()).then((data) => store.dispatch({ type: "came", data })), 200);
