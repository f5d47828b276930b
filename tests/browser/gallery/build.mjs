// Bundles each program of a folder as a site would: minified, with its chunks. Svelte's are compiled first.
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [sources, modules, out] = process.argv.slice(2);
const require = createRequire(join(modules, "x.js"));
const esbuild = require("esbuild-wasm");
const { compile } = require("svelte/compiler");

const svelte = {
  name: "svelte",
  setup(build) {
    build.onLoad({ filter: /\.svelte$/ }, ({ path }) => {
      const made = compile(readFileSync(path, "utf8"), { generate: "client", filename: path });
      return { contents: made.js.code, loader: "js", resolveDir: sources };
    });
  },
};
await esbuild.build({
  entryPoints: readdirSync(sources).filter((name) => name.endsWith(".js") && !name.startsWith("part-")).map((name) => join(sources, name)),
  bundle: true, minify: true, splitting: true, format: "esm", outdir: out, nodePaths: [modules], plugins: [svelte],
  conditions: ["browser", "production"], define: { "process.env.NODE_ENV": '"production"' }, logLevel: "error",
});
process.exit(0);
