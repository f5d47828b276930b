import { autorun, observable, runInAction } from "mobx";
const state = observable({ text: "Loading …" });
autorun(() => { document.getElementById("root").textContent = state.text; });
fetch("/json").then((r) => r.json()).then((data) => runInAction(() => { state.text = data.text; }));
