import { Component, render } from "inferno";
import { createElement as h } from "inferno-create-element";
class App extends Component {
  state = { text: "Loading …" };
  componentDidMount() { fetch("/json").then((r) => r.json()).then((data) => this.setState(data)); }
  render() { return h("main", null, h("p", null, this.state.text)); }
}
render(h(App), document.getElementById("root"));
