import { signal } from "@preact/signals";
import { h, render } from "preact";
const data = signal("Loading …");
render(h(() => h("main", null, data)), document.getElementById("root"));
fetch("/json").then((r) => r.json()).then((got) => { data.value = got.text; });
