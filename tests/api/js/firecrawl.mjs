// @mendable/firecrawl-js against a server: `node firecrawl.mjs MODULES BASE SITE`. Prints what each call returned as JSON.
import { createRequire } from "node:module";

const [modules, base, site] = process.argv.slice(2);
const library = createRequire(`${modules}/`)("@mendable/firecrawl-js");
const Firecrawl = library.Firecrawl ?? library.default;
const app = new Firecrawl({ apiKey: "fc-a-key-of-the-test", apiUrl: base });

async function refusal(call) {
  try {
    return { unexpected: await call() };
  } catch (error) {
    return { status: error.status ?? error.statusCode, message: String(error.message) };
  }
}

const page = `${site}/otters`;
const found = {
  scrape: await app.scrape(page, { formats: ["markdown", "html", "rawHtml", "links", "images"] }),
  whole: await app.scrape(page, { onlyMainContent: false, excludeTags: ["nav"] }),
  map: await app.map(page),
  blocked: await refusal(() => app.scrape("http://10.0.0.1/")),
  gone: await refusal(() => app.scrape(`${site}/gone`)),
  slow: await refusal(() => app.scrape(`${site}/slow`, { timeout: 1000 })),
  crawl: await refusal(() => app.startCrawl(page)),
  batch: await app.batchScrape([page, `${site}/gone`, `${site}/second`], { options: { formats: ["markdown"] }, pollInterval: 1 }),
  v1: {
    scrape: await app.v1.scrapeUrl(page, { formats: ["markdown", "links"] }),
    map: await app.v1.mapUrl(page, {}),
  },
};
found.errors = await app.getBatchScrapeErrors(found.batch.id);
console.log(JSON.stringify(found));
