import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "../e2e/support/places.ts";
import { call, openTalk } from "../e2e/support/talk.ts";
import { fencesIn } from "../support/fences.ts";
import { startWorker } from "./support/worker.ts";

// The Worker of docs/deploying.md as it stands there, with the settings that stand below it.

const page = readFileSync(join(root, "docs/deploying.md"), "utf8");
const [, compatibilityDate = ""] = /^compatibility_date = "([\d-]+)"/m.exec(page) ?? [];
const [, flags = ""] = /^compatibility_flags = \[(.*?)\]/m.exec(page) ?? [];
const compatibilityFlags = [...flags.matchAll(/"(\w+)"/g)].map(([, flag = ""]) => flag);

const file = ".tmp/workers/deploying.ts";
mkdirSync(join(root, ".tmp/workers"), { recursive: true });
writeFileSync(join(root, file), fencesIn("docs/deploying.md").find(({ name }) => name === "worker")?.code ?? "");
const worker = await startWorker(file, { compatibilityDate, compatibilityFlags });

it.each(["2026-07-28", "2025-11-25"] as const)(
  "the Worker of the page answers on this machine, %s (I2)",
  async (revision) => {
    await using talk = await openTalk(`${worker.url}/mcp`, { revision });
    expect(await call(talk.client, "hello")).toBe("Hello");
  },
);
