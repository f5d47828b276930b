// What a page waits for besides the network: it runs before the page's own scripts, in the page's own world, and counts.
// A page that gets round it, or cheats it, is brought as it stands or waited for in vain: nobody's loss but its own.
((name) => {
  if (window[name]) return;
  const above = (() => { try { return window !== parent && parent[name]; } catch { return null; } })();
  // One ledger for a page and its frames of the same origin.
  const ledger = above ? above.ledger : {
    held: 0, lively: 0, closed: 0, frames: 0, timers: new Map(), clock: 0, done: new WeakSet(), guarded: false, number: 0,
  };
  const now = performance.now.bind(performance);
  const nextFrame = requestAnimationFrame.bind(window);
  const animations = document.getAnimations.bind(document);
  const hold = () => { let open = true; ledger.held++; return () => { if (open) { open = false; ledger.held--; } }; };
  const around = (owner, key, apply) => {
    const found = owner && Object.getOwnPropertyDescriptor(owner, key);
    if (!found || typeof found.value !== "function" || !found.configurable) return;
    Object.defineProperty(owner, key, { ...found, value: new Proxy(found.value, { apply }) });
  };
  const awaited = (made) => {
    if (made instanceof Promise) { const release = hold(); made.then(release, release); }
    return made;
  };
  const promising = (f, self, args) => awaited(Reflect.apply(f, self, args));
  const until = (made, ...events) => {
    const release = hold();
    for (const event of events) made.addEventListener(event, release, { once: true });
    return made;
  };
  const ending = (...events) => (f, self, args) => until(Reflect.apply(f, self, args), ...events);
  const selfEnding = (...events) => (f, self, args) => {
    const made = Reflect.apply(f, self, args);
    until(self, ...events);
    return made;
  };

  // Answers that come as promises.
  for (const kind of ["CacheStorage", "Cache", "SubtleCrypto", "StorageManager", "FileSystemHandle", "FileSystemFileHandle",
    "FileSystemDirectoryHandle", "FileSystemWritableFileStream", "Blob", "Response", "Request", "FontFace", "FontFaceSet",
    "OffscreenCanvas", "Permissions", "HTMLImageElement", "Scheduler", "CookieStore", "MediaCapabilities"]) {
    const owner = window[kind] && window[kind].prototype;
    for (const key of owner ? Object.getOwnPropertyNames(owner) : []) if (key !== "constructor") around(owner, key, promising);
  }
  for (const key of ["compile", "instantiate", "compileStreaming", "instantiateStreaming"]) around(WebAssembly, key, promising);
  for (const key of ["fetch", "createImageBitmap"]) around(window, key, promising);
  for (const key of ["register", "getRegistration", "getRegistrations"]) {
    around(window.ServiceWorkerContainer && ServiceWorkerContainer.prototype, key, promising);
  }
  // Answers that come as events.
  if (window.indexedDB) {
    for (const key of ["open", "deleteDatabase"]) around(IDBFactory.prototype, key, ending("success", "error", "blocked"));
    around(IDBFactory.prototype, "databases", promising);
    around(IDBDatabase.prototype, "transaction", ending("complete", "abort"));
  }
  around(XMLHttpRequest.prototype, "send", selfEnding("loadend"));
  for (const key of ["readAsText", "readAsArrayBuffer", "readAsDataURL", "readAsBinaryString"]) {
    around(FileReader.prototype, key, selfEnding("loadend"));
  }
  around(HTMLCanvasElement.prototype, "toBlob", (f, self, [then, ...more]) => {
    const release = hold();
    return Reflect.apply(f, self, [(...got) => { release(); return then(...got); }, ...more]);
  });
  around(Document.prototype, "startViewTransition", (f, self, args) => {
    const made = Reflect.apply(f, self, args);
    awaited(made.finished);
    return made;
  });
  // What waits for the next picture of the page.
  const pictures = (count) => {
    const release = hold();
    const next = () => (count-- > 0 ? nextFrame(next) : release());
    next();
  };
  for (const kind of ["IntersectionObserver", "ResizeObserver"]) {
    around(window[kind] && window[kind].prototype, "observe", (f, self, args) => {
      pictures(2);
      return Reflect.apply(f, self, args);
    });
  }
  addEventListener("load", () => pictures(2), { once: true });
  const counted = (start, stop, wrap) => {
    const open = new Set();
    around(window, start, (f, self, [then, ...more]) => {
      if (typeof then !== "function") return Reflect.apply(f, self, [then, ...more]);
      const id = Reflect.apply(f, self, [(...got) => { if (open.delete(id)) wrap(-1); return then(...got); }, ...more]);
      open.add(id);
      wrap(1);
      return id;
    });
    around(window, stop, (f, self, args) => { if (open.delete(args[0])) wrap(-1); return Reflect.apply(f, self, args); });
  };
  counted("requestAnimationFrame", "cancelAnimationFrame", (by) => { ledger.frames += by; });
  counted("requestIdleCallback", "cancelIdleCallback", (by) => { ledger.held += by; });
  // Whoever may speak at any time.
  around(window.LockManager && LockManager.prototype, "request", (f, self, args) => { ledger.lively++; return Reflect.apply(f, self, args); });
  for (const kind of ["BroadcastChannel", "SharedWorker", "RTCPeerConnection"]) {
    if (window[kind]) window[kind] = new Proxy(window[kind], { construct(f, args, as) { ledger.lively++; return Reflect.construct(f, args, as); } });
  }
  around(Element.prototype, "attachShadow", (f, self, args) => {
    const made = Reflect.apply(f, self, args);
    if (made.mode === "closed") ledger.closed++;
    return made;
  });
  // Timers: when the next is due. One whose time is over has run.
  const most = 5000;
  const timed = (start, again) => around(window, start, (f, self, args) => {
    const id = Reflect.apply(f, self, args);
    const delay = Math.max(1, Number(args[1]) || 0);
    if (ledger.timers.size < most) ledger.timers.set(`${ledger.number}.${start}.${id}`, [again ? Infinity : now() + delay, delay]);
    return id;
  });
  const own = ++ledger.number;
  const cleared = (stop, start) => around(window, stop, (f, self, args) => {
    for (const kind of start) ledger.timers.delete(`${own}.${kind}.${args[0]}`);
    return Reflect.apply(f, self, args);
  });
  timed("setTimeout", false);
  timed("setInterval", true);
  cleared("clearTimeout", ["setTimeout", "setInterval"]);
  cleared("clearInterval", ["setTimeout", "setInterval"]);
  const ran = (event) => { if (event.target instanceof Element) ledger.done.add(event.target); };
  for (const event of ["load", "error"]) document.addEventListener(event, ran, { capture: true });

  const due = (within) => {
    const time = now();
    let next = Infinity;
    for (const [key, [at, delay]] of ledger.timers) {
      if (at < time - 20) ledger.timers.delete(key);
      else next = Math.min(next, at === Infinity ? delay : Math.max(0, at - time));
    }
    return next <= within ? next : -1;
  };
  const scriptsToRun = () => {
    for (const one of document.scripts) {
      if (one.src && !one.noModule && !ledger.done.has(one) && /^$|javascript|module/i.test(one.type)) return true;
    }
    return false;
  };
  const text = (least) => {
    const walker = document.createTreeWalker(document, NodeFilter.SHOW_TEXT);
    let size = 0;
    while (size < least && walker.nextNode()) {
      const inside = walker.currentNode.parentElement;
      if (inside && !/^(SCRIPT|STYLE|NOSCRIPT|TITLE|TEMPLATE)$/.test(inside.tagName)) size += walker.currentNode.data.trim().length;
    }
    return size;
  };
  const foreignFrames = () => {
    for (let at = 0; at < frames.length; at++) { try { if (frames[at].document === null) return true; } catch { return true; } }
    return false;
  };
  const moves = () => {
    const found = animations().some((one) => {
      if (one.playState !== "running" || !one.effect) return false;
      const left = one.effect.getComputedTiming().endTime - (one.currentTime || 0);
      return left > 0 && left < 1000;
    });
    if (found) pictures(2);  // the news of its end comes with the next
    return found;
  };
  // Under virtual time the clock stands still while a script runs: one that waits for it to go on is helped along.
  const guard = () => {
    if (ledger.guarded) return;
    ledger.guarded = true;
    let last = 0, calls = 0, ahead = 0, step = 1;
    const told = (time) => {
      const at = Math.floor(time);
      if (at !== last) { last = at; calls = 0; step = 1; }
      else if (++calls > 50000) { calls = 0; ahead += step; step *= 2; }
      return time + ahead;
    };
    around(Performance.prototype, "now", (f, self, args) => told(Reflect.apply(f, self, args)));
    const clock = Date.now;
    around(Date, "now", (f, self, args) => told(Reflect.apply(f, self, args)));
    const plain = Date;
    window.Date = new Proxy(plain, {
      construct: (f, args, as) => Reflect.construct(f, args.length ? args : [told(clock())], as === window.Date ? f : as),
    });
    plain.prototype.constructor = window.Date;
  };
  Object.defineProperty(window, name, { value: Object.freeze({ ledger, guard, look: (bare, within) => ({
    held: ledger.held, closed: ledger.closed, frames: ledger.frames, moves: moves(), due: due(within),
    lively: ledger.lively > 0 || foreignFrames(),
    unready: document.readyState !== "complete" || document.fonts.status === "loading" || scriptsToRun(),
    bare: document.scripts.length > 0 && text(bare) < bare,
    size: document.getElementsByTagName("*").length + (document.body ? document.body.textContent.length : 0),
  }) }) });
})
