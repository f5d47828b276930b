import { createElement as h, lazy, Suspense } from "react";
import { createRoot } from "react-dom/client";
const Page = lazy(() => import("./part-page.js"));
createRoot(document.getElementById("root")).render(h(Suspense, { fallback: h("p", null, "Loading …") }, h(Page)));
