import { createElement as h, startTransition, useEffect, useState } from "react";
export default function Page() {
  const [data, set] = useState(null);
  useEffect(() => { fetch("/json").then((r) => r.json()).then((got) => startTransition(() => set(got))); }, []);
  return h("main", null, data && h("p", null, data.text));
}
