// Counts what a page waits for besides the network: it runs before the page's own scripts, in the page's own world.
// A page that manipulates it is read too early or too late; that harms only itself.
((name) => {
  const { apply, construct } = Reflect;  // captured before the page can replace them
  if (window[name]) return window[name].renew();  // the window of an empty frame is the one of its first document
  const above = (() => { try { return window !== parent && parent[name]; } catch { return null; } })();
  // One ledger for a page and its frames of the same origin.
  const ledger = above ? above.ledger : {
    windows: new Set(), lively: 0, closed: 0, declared: false, frames: 0, rounds: 0, signals: 0, timers: new Map(), clock: 0, done: new WeakSet(), guarded: false, number: 0,
  };
  const now = performance.now.bind(performance);
  const nextFrame = requestAnimationFrame.bind(window);
  const animations = document.getAnimations.bind(document);
  // What a document waits for is dropped with it: a frame that was removed or has navigated gets no events any more.
  const here = { window, document, open: new Set() };
  ledger.windows.add(here);
  const renew = () => { here.document = document; here.open.clear(); ledger.windows.add(here); };
  const hold = () => {
    const release = () => { here.open.delete(release); };
    here.open.add(release);
    return release;
  };
  const held = () => {
    let count = 0;
    for (const one of ledger.windows) {
      let lives = false;
      try { lives = !one.window.closed && one.window.document === one.document; } catch { /* another's by now */ }
      if (lives) count += one.open.size;
      else ledger.windows.delete(one);
    }
    return count;
  };
  const around = (owner, key, instead) => {
    const found = owner && Object.getOwnPropertyDescriptor(owner, key);
    if (!found || typeof found.value !== "function" || !found.configurable) return;
    Object.defineProperty(owner, key, { ...found, value: new Proxy(found.value, { apply: instead }) });
  };
  const awaited = (made) => {
    if (made instanceof Promise) { const release = hold(); made.then(release, release); }
    return made;
  };
  const promising = (f, self, args) => awaited(apply(f, self, args));
  const until = (made, ...events) => {
    const release = hold();
    for (const event of events) made.addEventListener(event, release, { once: true });
    return made;
  };
  const ending = (...events) => (f, self, args) => until(apply(f, self, args), ...events);
  const selfEnding = (...events) => (f, self, args) => {
    const made = apply(f, self, args);
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
    return apply(f, self, [(...got) => { release(); return then(...got); }, ...more]);
  });
  around(Document.prototype, "startViewTransition", (f, self, args) => {
    const made = apply(f, self, args);
    awaited(made.finished);
    return made;
  });
  // What waits for the next frame of the page.
  const pictures = (count) => {
    const release = hold();
    const next = () => (count-- > 0 ? nextFrame(next) : release());
    next();
  };
  // An observer that changes what it observes is called again in the next frame, without another sign of it; one that
  // never ends is waited for `mostRounds` times.
  const mostRounds = 60;
  const round = () => { if (ledger.rounds++ < mostRounds) pictures(2); };
  for (const kind of ["IntersectionObserver", "ResizeObserver"]) {
    if (!window[kind]) continue;
    around(window[kind].prototype, "observe", (f, self, args) => {
      pictures(2);
      return apply(f, self, args);
    });
    window[kind] = new Proxy(window[kind], {
      construct: (f, [then, ...more], as) => construct(f, [
        typeof then === "function" ? function observed(...got) { round(); return apply(then, this, got); } : then, ...more,
      ], as),
    });
    window[kind].prototype.constructor = window[kind];
  }
  addEventListener("load", () => pictures(2), { once: true });
  const counted = (start, stop, begin) => {
    const open = new Map();
    const ended = (id) => { const end = open.get(id); if (end) { open.delete(id); end(); } };
    around(window, start, (f, self, [then, ...more]) => {
      if (typeof then !== "function") return apply(f, self, [then, ...more]);
      const id = apply(f, self, [(...got) => { ended(id); return then(...got); }, ...more]);
      open.set(id, begin());
      return id;
    });
    around(window, stop, (f, self, args) => { ended(args[0]); return apply(f, self, args); });
  };
  counted("requestAnimationFrame", "cancelAnimationFrame", () => { ledger.frames++; return () => { ledger.frames--; }; });
  counted("requestIdleCallback", "cancelIdleCallback", hold);
  // Sources that can send data at any time.
  around(window.LockManager && LockManager.prototype, "request", (f, self, args) => { ledger.lively++; return apply(f, self, args); });
  for (const kind of ["BroadcastChannel", "SharedWorker", "RTCPeerConnection"]) {
    if (window[kind]) window[kind] = new Proxy(window[kind], { construct: (f, args, as) => { ledger.lively++; return construct(f, args, as); } });
  }
  around(Element.prototype, "attachShadow", (f, self, args) => {
    const made = apply(f, self, args);
    if (made.mode === "closed") ledger.closed++;
    return made;
  });
  // Roots that markup declares are created by the parser without a call: only their possibility can be detected.
  const declares = (text) => { if (/shadowrootmode/i.test(text)) ledger.declared = true; };
  const declaring = (f, self, args) => { args.forEach(declares); return apply(f, self, args); };
  for (const key of ["write", "writeln"]) around(Document.prototype, key, declaring);
  around(Document, "parseHTMLUnsafe", declaring);
  for (const kind of ["Element", "ShadowRoot"]) around(window[kind].prototype, "setHTMLUnsafe", declaring);
  try { if (frameElement) declares(frameElement.srcdoc); } catch { /* another's */ }

  // History navigation is allowed only within this document.
  const entries = window.navigation;
  const within = (steps) => {
    const at = steps && entries && entries.currentEntry && entries.entries()[entries.currentEntry.index + steps];
    return !steps || (at && at.sameDocument);
  };
  for (const [key, steps] of [["back", () => -1], ["forward", () => 1], ["go", (by) => Math.trunc(by) || 0]]) {
    around(History.prototype, key, (f, self, args) => (within(steps(args[0])) ? apply(f, self, args) : undefined));
  }
  // Timers: when the next is due. One whose time has passed has run.
  const most = 5000;
  const timed = (start, again) => around(window, start, (f, self, args) => {
    const id = apply(f, self, args);
    const delay = Math.max(1, Number(args[1]) || 0);
    if (ledger.timers.size < most) ledger.timers.set(`${ledger.number}.${start}.${id}`, [again ? Infinity : now() + delay, delay]);
    return id;
  });
  const own = ++ledger.number;
  const cleared = (stop, start) => around(window, stop, (f, self, args) => {
    for (const kind of start) ledger.timers.delete(`${own}.${kind}.${args[0]}`);
    return apply(f, self, args);
  });
  around(window.AbortSignal, "timeout", (f, self, args) => {
    const made = apply(f, self, args), delay = Math.max(1, Number(args[0]) || 0);
    if (ledger.timers.size < most) ledger.timers.set(`${own}.signal.${++ledger.signals}`, [now() + delay, delay]);
    return made;
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
  // A page that marks itself as loading: what it shows meanwhile is not its text.
  const waits = () => {
    for (const one of document.querySelectorAll('[aria-busy="true" i], [class*="skeleton" i], [class*="spinner" i], [class*="shimmer" i]')) {
      if (one.checkVisibility()) return true;
    }
    return false;
  };
  // A meta refresh is a timer too, unless the page only reloads itself.
  const movesOn = (within) => {
    for (const one of document.querySelectorAll('meta[http-equiv="refresh" i]')) {
      const [, seconds, to] = /^\s*(\d+(?:\.\d+)?)\s*[;,]\s*(?:url\s*=\s*)?["']?([^"']+)/i.exec(one.content) || [];
      if (seconds * 1000 <= within && URL.parse(to, document.baseURI)?.href !== location.href) return seconds * 1000;
    }
    return -1;
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
    if (found) pictures(2);  // its end is reported in the next frame
    return found;
  };
  // In virtual time the clock stands still while a script runs: for a script that polls the clock, it is advanced.
  const guard = () => {
    if (ledger.guarded) return;
    ledger.guarded = true;
    let last = 0, calls = 0, ahead = 0, step = 1;
    const advanced = (time) => {
      const at = Math.floor(time);
      if (at !== last) { last = at; calls = 0; step = 1; }
      else if (++calls > 50000) { calls = 0; ahead += step; step *= 2; }
      return time + ahead;
    };
    around(Performance.prototype, "now", (f, self, args) => advanced(apply(f, self, args)));
    const clock = Date.now;
    around(Date, "now", (f, self, args) => advanced(apply(f, self, args)));
    const plain = Date;
    window.Date = new Proxy(plain, {
      construct: (f, args, as) => construct(f, args.length ? args : [advanced(clock())], as === window.Date ? f : as),
    });
    plain.prototype.constructor = window.Date;
  };
  const look = (least, within, late) => {
    const bare = movesOn(late) >= 0 || (document.scripts.length > 0 && (text(least) < least || waits()));
    return {
      held: held(), closed: ledger.closed, declared: ledger.declared, frames: ledger.frames, moves: moves(), bare,
      due: bare ? Math.max(due(late), movesOn(late)) : due(within),
      lively: ledger.lively > 0 || foreignFrames(),
      unready: document.readyState !== "complete" || document.fonts.status === "loading" || scriptsToRun(),
      size: document.getElementsByTagName("*").length + (document.body ? document.body.textContent.length : 0),
    };
  };
  Object.defineProperty(window, name, { value: Object.freeze({ ledger, guard, renew, look }) });
})
