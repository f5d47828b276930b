// Search runs in a worker, which browsers do not start for a page that is opened as a file. There, a hidden frame stands in for it.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      this.ready = new Promise((done) => {
        frame.onload = () => {
          const inside = frame.contentWindow
          inside.postMessage = (data) => {
            const message = new MessageEvent("message", { data })
            this.dispatchEvent(message)
            if (this.onmessage) this.onmessage(message)
          }
          const script = inside.document.createElement("script")
          script.src = url
          script.onload = () => done(inside)
          inside.document.body.append(script)
        }
      })
      frame.srcdoc = "<!doctype html><body></body>"
      document.body.append(frame)
    }
    postMessage(data) {
      this.ready.then((inside) => inside.dispatchEvent(new MessageEvent("message", { data })))
    }
    terminate() {}
  }
}
