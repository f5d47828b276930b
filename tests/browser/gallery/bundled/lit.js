import { LitElement, html } from "lit";
customElements.define("x-page", class extends LitElement {
  static properties = { data: {} };
  async connectedCallback() { super.connectedCallback(); this.data = await (await fetch("/json")).json(); }
  render() { return html`<h1>Otters</h1><p>${this.data?.text ?? "Loading …"}</p>`; }
});
