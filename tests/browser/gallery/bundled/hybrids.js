import { define, html } from "hybrids";
const got = fetch("/json").then((r) => r.json());
define({ tag: "x-page", render: () => html`<p>${html.resolve(got.then((data) => html`${data.text}`))}</p>` });
