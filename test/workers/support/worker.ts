import { resolve } from "node:path";
import { build } from "esbuild";
import { Miniflare } from "miniflare";
import { afterAll, expect } from "vitest";
import { root } from "../../e2e/support/places.ts";

/** A Worker that runs in workerd, the runtime of Cloudflare Workers. */
export interface Worker {
  /** Its origin, without a path. */
  readonly url: string;
  /** What the runtime and the Worker have printed. */
  readonly output: string;
}

export interface WorkerOptions {
  /** Which behaviour of the platform it gets. Default: a date of this workerd. */
  readonly compatibilityDate?: string;
  readonly compatibilityFlags?: readonly string[];
  /** Classes of Durable Objects, by the name of their binding. */
  readonly durableObjects?: Readonly<Record<string, string>>;
  readonly bindings?: Readonly<Record<string, string>>;
  /** What it may do although the platform complains. Default: nothing. */
  readonly tolerates?: "anything" | "news for requests that have ended";
}

/** Starts a Worker for the tests of one file. It must not do what the platform forbids. */
export async function startWorker(path: string, options: WorkerOptions = {}): Promise<Worker> {
  const { compatibilityDate = "2025-12-01", compatibilityFlags = [], durableObjects = {}, bindings = {} } = options;
  const printed: string[] = [];
  const miniflare = new Miniflare({
    modules: [{ type: "ESModule", path: "worker.mjs", contents: await bundle(path) }],
    compatibilityDate,
    compatibilityFlags: [...compatibilityFlags],
    durableObjects,
    bindings,
    cf: false,
    handleRuntimeStdio(...streams) {
      for (const stream of streams) stream.on("data", (chunk) => printed.push(String(chunk)));
    },
    // Without the Worker that Miniflare puts in front.
    unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
  });
  afterAll(async () => {
    await miniflare.dispose();
    expect(faultsIn(printed.join(""), options.tolerates)).toEqual([]);
  });
  await miniflare.ready;
  const { origin } = await miniflare.unsafeGetDirectURL();
  return {
    url: origin,
    get output() {
      return printed.join("");
    },
  };
}

/** One file, made as Wrangler makes it. */
async function bundle(path: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [resolve(root, path)],
    bundle: true,
    tsconfigRaw: {}, // Bundlers of users do not read the one of this repository.
    write: false,
    format: "esm",
    platform: "browser",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["node:*", "cloudflare:*"],
    logLevel: "error",
  });
  return outputFiles[0]?.text ?? "";
}

/** What the platform has to say of what one request did to another, or never did. */
function faultsIn(output: string, tolerates: WorkerOptions["tolerates"]): readonly string[] {
  const faults = /different request|had hung|Uncaught|Disallowed operation/;
  const tolerated = { anything: /^/, "news for requests that have ended": /has already been completed or canceled/ };
  const lines = output.split("\n").filter((line) => faults.test(line));
  return tolerates === undefined ? lines : lines.filter((line) => !tolerated[tolerates].test(line));
}
