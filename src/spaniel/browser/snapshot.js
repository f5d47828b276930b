// The page as it is seen: a copy without what its styles hide, with open shadow roots and same-origin frames in place.
// It runs in an isolated world, so that nothing a page redefines applies here, and changes nothing in the page except
// that its animations are finished.
((limits) => {
  // Named inputs of a form, and forms and images of a document, shadow properties of the same name (`remove`, `body`),
  // in this world too. So properties and methods are taken from the classes.
  const of = (kind, key) => { const { get } = Object.getOwnPropertyDescriptor(kind.prototype, key); return (one) => get.call(one); };
  const call = (kind, key) => { const method = kind.prototype[key]; return (one, ...args) => method.apply(one, args); };
  const tagName = of(Element, "tagName"), localName = of(Element, "localName"), shadowRoot = of(Element, "shadowRoot");
  const firstChild = of(Node, "firstChild"), childNodes = of(Node, "childNodes");
  const isVisible = call(Element, "checkVisibility"), closest = call(Element, "closest"), boxOf = call(Element, "getBoundingClientRect");
  const remove = call(Element, "remove"), attribute = call(Element, "getAttribute");
  const removeAttribute = call(Element, "removeAttribute"), attributes = of(Element, "attributes");
  const root = of(Document, "documentElement")(document), contentType = of(Document, "contentType")(document);
  const bodyOf = of(Document, "body");
  const answer = { url: location.href, type: contentType, html: "", cut: false };
  const plain = (text) => (text.toWellFormed ? text.toWellFormed() : text).replaceAll("\0", "");
  const whole = (text) => plain(text).slice(0, limits.bytes);
  if (!root) return answer;
  if (contentType === "text/plain") {
    const text = bodyOf(document) ? bodyOf(document).textContent : "";
    return { ...answer, html: whole(text), cut: text.length > limits.bytes };
  }
  const inert = of(Document, "implementation")(document).createHTMLDocument("");
  const seen = { gone: 0, staged: 0, visible: 0 };
  const NEVER = new Set(["SCRIPT", "STYLE", "TEMPLATE", "NOSCRIPT", "HEAD", "TITLE", "META", "LINK", "BASE", "OPTION"]);

  const own = (element) => {
    let size = 0;
    for (let node = firstChild(element); node; node = node.nextSibling) {
      if (node.nodeType === 3) size += node.data.trim().length;
    }
    return size;
  };
  // Elements with a box that cannot be seen: too small, outside the page, without color.
  const vanishes = (element, style) => {
    if (parseFloat(style.fontSize) < 1) return true;
    if (style.webkitTextFillColor === "rgba(0, 0, 0, 0)" && style.backgroundClip !== "text") return true;
    if (style.display === "contents") return false;
    const box = boxOf(element);
    if (box.right + scrollX <= 0 || box.bottom + scrollY <= 0) return box.width > 0 || style.overflow !== "visible";
    if (parseFloat(style.textIndent) < -900) return true;
    if (style.position !== "absolute" && style.position !== "fixed") {
      return style.overflow === "hidden" && (box.width < 2 || box.height < 2);
    }
    return (box.width < 2 || box.height < 2) && style.overflow !== "visible"
      || /^rect\((0px|1px), (0px|1px), (0px|1px), (0px|1px)\)$/.test(style.clip)
      || /^inset\((50|100)%/.test(style.clipPath);
  };
  // "gone" has no box at all; "staged" has one that cannot be seen, as has a page that fades in.
  const judge = (element) => {
    if (NEVER.has(tagName(element))) return "";
    const text = own(element);
    if (!isVisible(element)) {  // "contents" has no box, its children have; what a reader may unfold is not hidden
      const display = getComputedStyle(element).display;
      return display === "contents" || display !== "none" && closest(element, "details:not([open])") ? "" : "gone";
    }
    if (!isVisible(element, { opacityProperty: true, visibilityProperty: true })) {
      seen.staged += text;
      return getComputedStyle(element).visibility === "visible" ? "staged" : "unseen";
    }
    if (text) {
      if (vanishes(element, getComputedStyle(element))) {
        seen.staged += text;
        return "staged";
      }
      seen.visible += text;
    }
    return "";
  };

  let left = limits.elements;  // for the page, its roots and its frames together
  const copyOf = (source) => {
    let elements = [...source.querySelectorAll("*")];
    let copy;
    if (source !== root && elements.length > left) {
      answer.cut = true;
      return { copy: inert.createDocumentFragment(), elements: [], twins: [] };
    }
    left -= elements.length;
    if (source === root && elements.length > limits.elements) {
      answer.cut = true;
      const range = new Range();
      range.setStart(root, 0);
      range.setEndBefore(elements[limits.elements]);
      copy = inert.importNode(root, false);
      copy.append(inert.importNode(range.cloneContents(), true));
      elements = elements.slice(0, limits.elements);
    } else if (source.nodeType === 11) {
      copy = inert.createDocumentFragment();
      for (const child of source.childNodes) copy.append(inert.importNode(child, true));
    } else {
      copy = inert.importNode(source, true);
    }
    return { copy, elements, twins: [...copy.querySelectorAll("*")] };
  };

  // What fades in, now or when it is scrolled to, is judged by how it will be seen.
  let unsettled = limits.animations;
  const settle = (source) => {
    for (const one of source.getAnimations({ subtree: true })) {
      if (--unsettled < 0) break;
      try { one.finish(); } catch { /* it has no end */ }
    }
  };

  const hidden = { gone: [], staged: [], unseen: [] };
  const work = (source) => {
    settle(source);
    const { copy, elements, twins } = copyOf(source);
    let skip = null;
    for (let at = 0; at < elements.length; at++) {
      const element = elements[at];
      if (skip) {
        if (skip.contains(element)) continue;
        skip = null;
      }
      const verdict = judge(element);
      if (verdict) hidden[verdict].push(twins[at]);
      if (verdict === "gone") skip = element;
      else if (shadowRoot(element)) inline(element, twins[at]);
      else if (!verdict && /^i?frame$/.test(localName(element))) frame(element, twins[at]);
    }
    return copy;
  };
  // A same-origin frame is read in its place; another becomes a link.
  const frame = (element, twin) => {
    let inside = null;
    try { inside = element.contentDocument && bodyOf(element.contentDocument); } catch { /* another's */ }
    const place = inert.createElement("div");
    if (inside) {
      place.append(...work(inside).childNodes);
    } else {
      const box = boxOf(element);
      if (!/^https?:/.test(element.src) || box.width < limits.frame || box.height < limits.frame) return twin.remove();
      const link = inert.createElement("a");
      link.href = element.src;
      link.textContent = element.title || element.name || element.src;
      const line = inert.createElement("p");
      line.append(link);
      place.append(line);
    }
    for (const old of place.querySelectorAll("base,meta,title")) old.remove();
    twin.replaceWith(place);
  };
  // A host shows its shadow tree; its children are shown in the slots.
  const inline = (host, twin) => {
    const inside = inert.createElement("div");
    inside.append(work(shadowRoot(host)));
    for (const slot of inside.querySelectorAll("slot")) {
      const name = slot.getAttribute("name") || "";
      const taken = [...twin.childNodes].filter((node) =>
        (node.nodeType === 1 ? attribute(node, "slot") || "" : "") === name);
      if (taken.length) slot.replaceChildren(...taken);
    }
    twin.replaceChildren(...inside.childNodes);
  };

  const copy = work(root);
  for (const element of hidden.gone) remove(element);
  for (const element of copy.querySelectorAll(
    'style,noscript,script:not([type="application/ld+json" i]):not([type^="math/" i])')) element.remove();
  // A page whose text is nearly all staged fades in; with no rival it is the content (D2-08).
  if (seen.staged <= limits.some || seen.staged < 4 * seen.visible) {
    for (const element of hidden.staged) remove(element);
    for (const element of hidden.unseen) {
      for (const node of [...childNodes(element)]) if (node.nodeType === 3) node.remove();
    }
  }
  // data: URLs are not text, and may be larger than all of it.
  for (const name of ["src", "srcset", "href", "poster", "style", "data"]) {
    for (const element of copy.querySelectorAll(`[${name}*="data:" i]`)) {
      if (attribute(element, name).length > limits.url) removeAttribute(element, name);
    }
  }
  let html = "<!DOCTYPE html>" + copy.outerHTML;
  if (html.length > limits.bytes) {  // drawings, and what scripts keep in attributes, go before any text does
    for (const element of copy.querySelectorAll("svg,canvas")) remove(element);
    for (const element of [copy, ...copy.querySelectorAll("*")]) {
      for (const { name, value } of [...attributes(element)]) if (value.length > limits.url) removeAttribute(element, name);
    }
    html = "<!DOCTYPE html>" + copy.outerHTML;
  }
  answer.cut = answer.cut || html.length > limits.bytes;
  answer.html = whole(html);
  return answer;
})
