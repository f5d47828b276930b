const source = "fetch('" + location.origin + "/json').then((r) => r.json()).then((data) => postMessage(data.text))";
const worker = new Worker(URL.createObjectURL(new Blob([source])));
worker.onmessage = (event) => { document.getElementById("root").textContent = event.data; };
