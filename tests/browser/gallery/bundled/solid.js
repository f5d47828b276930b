import { createResource } from "solid-js";
import html from "solid-js/html";
import { render } from "solid-js/web";
render(() => {
  const [data] = createResource(() => fetch("/json").then((r) => r.json()));
  return html`<main><p>${() => data()?.text}</p></main>`;
}, document.getElementById("root"));
