import { component, html, useEffect, useState } from "haunted";
customElements.define("x-page", component(() => {
  const [text, set] = useState("Loading …");
  useEffect(() => { fetch("/json").then((r) => r.json()).then((got) => set(got.text)); }, []);
  return html`<p>${text}</p>`;
}));
