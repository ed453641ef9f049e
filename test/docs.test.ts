import { spawn } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { transform } from "esbuild";
import { beforeAll, describe, expect, it } from "vitest";
import type { ErrorCode } from "../src/protocol/errors.ts";
import type { Revision } from "../src/protocol/revision.ts";
import { codecFor } from "./support/codecs.ts";
import { type Fence, fencesIn } from "./support/fences.ts";

const root = resolve(fileURLToPath(import.meta.url), "../..");
const out = join(root, ".tmp", "docs");
/** All pages but the register of contracts, which is no text to read. */
const guides = namesIn("docs", ".md").flatMap((name) => (name === "contracts.md" ? [] : [join("docs", name)]));
const pages = ["README.md", ...guides];

/**
 * What fragments may use without declaring it. One that begins with a member,
 * such as `run:`, is checked as the body of a tool whose input is `order`.
 */
const prelude = `
declare const client: import("plugbay/client").Client;
declare const model: {
  complete(params: import("plugbay").CreateMessageParams): Promise<import("plugbay").CreateMessageResult>;
};
declare const stock: {
  hold(sku: string, quantity: number): Promise<{ id: string; legs: string[] }>;
  charge(id: string): Promise<string>;
  release(id: string): Promise<void>;
  names(prefix: string, signal: AbortSignal): Promise<string[]>;
};
declare function ship(leg: string, signal: AbortSignal): Promise<void>;
declare const signal: AbortSignal;
declare const text: string;
declare const path: string;
declare function apply(diff: unknown): void;
declare function confirm(question: string): Promise<boolean>;
declare const host: import("plugbay/host").Host;
declare function showForm(title: string, form: object): Promise<import("plugbay").JsonObject>;
declare const confirmation: {
  readonly type: "object";
  readonly properties: { readonly ok: { readonly type: "boolean" } };
  readonly required: readonly ["ok"];
};
declare const order: {
  readonly type: "object";
  readonly properties: { readonly sku: { readonly type: "string" }; readonly quantity: { readonly type: "number" } };
  readonly required: readonly ["sku", "quantity"];
};
`;

/** A block of a page, as a file. Programs are compiled as they stand, fragments with the prelude. */
interface Block {
  /** Without its extension. */
  readonly file: string;
  readonly kind: Fence["kind"];
  readonly code: string;
}

const blocks = pages.flatMap(blocksOf);
const programs = blocks.filter(({ kind }) => kind !== "fragment");
/** Fragments that can be checked: those of one page need the module that was generated before. */
const fragments = blocks.filter(({ kind, file }) => kind === "fragment" && !file.startsWith("generated-types/"));
const runnable = blocks.filter(({ kind }) => kind === "run");

beforeAll(() => {
  rmSync(out, { recursive: true, force: true });
  for (const { file, code } of programs) write(`programs/${file}.ts`, code);
  for (const { file, code } of fragments) write(`fragments/${file}.ts`, code);
  write("fragments/prelude.d.ts", prelude);
  const compilerOptions = { noUnusedLocals: false, noUnusedParameters: false };
  for (const folder of ["programs", "fragments"]) {
    const include = [".", "../../../test/e2e/support/*.d.ts"];
    write(`${folder}/tsconfig.json`, JSON.stringify({ extends: "../../../tsconfig.json", compilerOptions, include }));
  }
});

describe("examples", () => {
  it.concurrent.each(namesIn("examples", ".mjs"))("%s runs to its end", async (name) => {
    expect(await run(join("examples", name))).toMatchObject({ code: 0 });
  });
});

describe("blocks of code", () => {
  it("are seen, and every guide begins with one that runs", () => {
    expect(programs.filter(({ file }) => file.startsWith("README/")).map(({ file }) => file)).toEqual(
      ["server", "client", "order", "host"].map((name) => `README/${name}`),
    );
    const first = guides.map((page) => fencesIn(page)[0]?.kind);
    expect(first).toEqual(guides.map(() => "run"));
  });

  it.each(["programs", "fragments"])("%s type-check against the package as it is published", async (folder) => {
    const typescript = dirname(createRequire(import.meta.url).resolve("typescript/package.json"));
    const { code, output } = await run(join(typescript, "bin", "tsc"), "-p", join(out, folder));
    expect(output).toBe("");
    expect(code).toBe(0);
  });

  it.concurrent.each(runnable)("$file runs to its end", async ({ file, code }) => {
    const { code: script } = await transform(code, { loader: "ts", format: "esm", target: "node20" });
    expect(await run(write(`programs/${file}.mjs`, script))).toMatchObject({ code: 0 });
  });

  /** A secret that is known, or becomes so. One that is made up at every start is neither. */
  const fallback = /(?:KEY|SECRET|TOKEN|PASSWORD|PEPPER)S?\b\S* (?:\?\?|\|\|)=?\s+(?!random\(\))|stateKeys: \["/;

  it("name no fallback for a key (S13)", () => {
    const files = readdirSync(join(root, "examples"), { recursive: true, encoding: "utf8" });
    const examples = files.map((name) => join("examples", name)).filter((file) => lstatSync(join(root, file)).isFile());
    expect(examples).toEqual(expect.arrayContaining([join("examples", "production", "server.mjs")]));
    expect([...pages, ...examples].filter((file) => fallback.test(read(file)))).toEqual([]);
  });

  it.each([
    'stateKeys: [process.env.STATE_KEY ?? "only for this example"]',
    "const secret = process.env.CLIENT_SECRET || 'secret';",
    "env.PROXY_KEYS ||= defaults;",
    'stateKeys: ["0123456789"]',
  ])("would be seen with %s (S13)", (line) => {
    expect(line).toMatch(fallback);
  });
});

describe("README.md", () => {
  const readme = read("README.md");

  it("lists every guide (X18)", () => {
    const linked = [...readme.matchAll(/\]\((docs\/[\w-]+\.md)\)/g)].map(([, page]) => page);
    expect([...new Set(linked)].toSorted()).toEqual([...guides].toSorted());
  });

  it("names only frameworks that have a tested recipe (T7)", () => {
    const recipes = read("docs/frameworks.md");
    const frameworks = ["Express", "Nest", "Fastify", "Koa", "Hono", "Next", "Deno", "Bun"];
    const named = frameworks.filter((name) => readme.includes(name));
    expect(named).toHaveLength(frameworks.length);
    expect(named.filter((name) => !recipes.includes(`\n## ${name}\n`))).toEqual([]);
    expect(readme).not.toMatch(/\b(Elysia|Hapi|Connect|Restify|Astro|Remix|SvelteKit|Nuxt)\b/);
  });

  it("says on its first screen how to install it, and what a clone can do", () => {
    const screen = readme.split("\n").slice(0, 40).join("\n");
    for (const text of ["npm i plugbay", '"type": "module"', "tsc --init", "npm ci && npm start", "npm ci && npm test"])
      expect(screen).toContain(text);
  });
});

describe("pages", () => {
  const all = [...namesIn(".", ".md"), ...guides, ...namesIn("docs/adr", ".md").map((name) => join("docs/adr", name))];

  it.each(all)("%s links to what exists", (page) => {
    const prose = read(page).replaceAll(/^```.*?^```/gms, "");
    const targets = [...prose.matchAll(/\]\(([^)\s#]+)[^)]*\)/g)].map(([, target = ""]) => target);
    const local = targets.filter((target) => !/^[a-z]+:/.test(target));
    expect(local.filter((target) => !existsSync(join(root, dirname(page), target)))).toEqual([]);
  });

  it.each(guides)("%s is short", (page) => {
    const lines = read(page).split("\n").length - 1;
    expect(lines).toBeGreaterThanOrEqual(60);
    expect(lines).toBeLessThanOrEqual(300);
  });

  it("ARCHITECTURE.md has a row for each folder below src, or names it in the row of the folder around it", () => {
    const folders = new Set(namesIn("src", ".ts").map((file) => dirname(join("src", file).replaceAll("\\", "/"))));
    folders.delete("src");
    expect(folders.size).toBeGreaterThan(40);
    expect([...folders].filter((folder) => !hasRow(folder))).toEqual([]);
    expect(hasRow("src/gone")).toBe(false);
  });

  const decisions = all.filter((page) => page.startsWith("docs/adr/"));

  it.each(["ARCHITECTURE.md", ...decisions])("%s names only paths that exist", (page) => {
    expect(pathsNamedIn(page).filter((path) => !isPath(path))).toEqual([]);
  });

  it("name paths that the check above finds", () => {
    expect(pathsNamedIn("ARCHITECTURE.md").length).toBeGreaterThan(25);
    expect(decisions.flatMap(pathsNamedIn).length).toBeGreaterThan(100);
    expect(["src/server", "server.ts", "server/server.ts", "src/gone", "gone.ts"].map(isPath)).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
  });
});

describe("docs/errors.md", () => {
  const [, union = ""] = /export type ErrorCode =(.*?");/s.exec(read("src/protocol/errors.ts")) ?? [];
  const codes = [...union.matchAll(/\| "([a-z-]+)"/g)].map(([, code]) => code as ErrorCode);
  const rows = [...read("docs/errors.md").matchAll(/^\| `([a-z-]+)` \|([^|]*)\|([^|]*)\|/gm)];

  it("lists exactly the codes of the source", () => {
    expect(codes.length).toBeGreaterThan(20);
    expect(rows.map(([, code]) => code).toSorted()).toEqual(codes.toSorted());
  });

  it("has the numbers of the codecs", () => {
    const numbers = rows.flatMap(([, code, legacy, modern]) =>
      /^ -\d/.test(legacy ?? "") ? [[code, Number.parseInt(legacy ?? "", 10), Number.parseInt(modern ?? "", 10)]] : [],
    );
    expect(numbers).toHaveLength(11);
    const numberOf = (revision: Revision, code: ErrorCode): number =>
      codecFor(revision).encodeFailure({ code, message: "" }).code;
    expect(numbers).toEqual(
      numbers.map(([code]) => [
        code,
        numberOf("2025-11-25", code as ErrorCode),
        numberOf("2026-07-28", code as ErrorCode),
      ]),
    );
  });
});

describe("options", () => {
  it.each(guides)("%s gives every option a row of its own (X18)", (page) => {
    expect(sharedRows(read(page))).toEqual([]);
  });

  it.each([
    ["servers", "src/server/options.ts", "ServerOptions"],
    ["servers", "src/server/tool.ts", "ToolDescription"],
    ["servers", "src/server/tool.ts", "ToolOptions"],
    ["servers", "src/server/resource.ts", "ResourceDescription"],
    ["servers", "src/server/context.ts", "Context"],
    ["clients", "src/connect/connect-options.ts", "ConnectOptions"],
    ["clients", "src/connect/target.ts", "UrlEntry"],
    ["clients", "src/client/client.ts", "ClientOptions"],
    ["clients", "src/client/client.ts", "Client"],
    ["clients", "src/client/request-handlers.ts", "QuestionHandlers"],
    ["clients", "src/client/call-options.ts", "CallOptions"],
    ["clients", "src/client/call-options.ts", "CachedCallOptions"],
    ["stdio", "src/transport/node/serve-stdio.ts", "ServeStdioOptions"],
    ["stdio", "src/transport/node/serve-stdio.ts", "StdioOptions"],
    ["stdio", "src/transport/node/line-channel.ts", "LineChannelOptions"],
    ["stdio", "src/transport/serve-channel.ts", "ServeChannelOptions"],
    ["stdio", "src/transport/command.ts", "Command"],
    ["stdio", "src/transport/command.ts", "ChildEnv"],
    ["http", "src/transport/http/options.ts", "HttpOptions"],
    ["http", "src/transport/node/serve-http.ts", "ServeHttpOptions"],
    ["http", "src/transport/node/serve-http.ts", "HttpServeHandle"],
    ["authorization", "src/auth/server/tokens.ts", "TokenAuthOptions"],
    ["authorization", "src/auth/server/jwt.ts", "JwtOptions"],
    ["authorization", "src/auth/server/introspection.ts", "IntrospectionOptions"],
    ["authorization", "src/auth/server/dpop.ts", "DpopOptions"],
    ["sign-in-proxy", "src/auth/proxy/settings.ts", "OAuthProxyOptions"],
    ["sign-in-proxy", "src/auth/proxy/quota.ts", "OAuthProxyLimits"],
    ["sign-in-proxy", "src/auth/proxy/provider.ts", "ProviderClientOptions"],
    ["sign-in-proxy", "src/auth/proxy/presets.ts", "GithubOptions"],
    ["sign-in-proxy", "src/auth/proxy/presets.ts", "EntraOptions"],
    ["sign-in-proxy", "src/auth/proxy/presets.ts", "OidcOptions"],
    ["rate-limits", "src/middleware/rate-limit.ts", "RateLimitOptions"],
    ["store", "src/client/cache-entries.ts", "CacheOptions"],
    ["generated-types", "src/typegen/generate-types.ts", "GenerateTypesOptions"],
    ["host", "src/host/host.ts", "HostOptions"],
    ["host", "src/host/spec.ts", "ServerSpec"],
    ["host", "src/host/host.ts", "Management"],
    ["agents", "src/agent/run-tools.ts", "RunToolsOptions"],
    ["observability", "src/otel/otel.ts", "OtelOptions"],
    ["observability", "src/metrics/metrics.ts", "MetricsOptions"],
    ["observability", "src/metrics/metrics.ts", "Metrics"],
    ["observability", "src/protocol/server-event.ts", "EventFacts"],
    ["observability", "src/protocol/server-event.ts", "CallEvent"],
    ["observability", "src/protocol/server-event.ts", "RefusedEvent"],
    ["testing", "src/testing/tool-matchers.ts", "ToolMatchers"],
    ["testing", "src/testing/tool-result.ts", "ExpectedResult"],
    ["testing", "src/testing/matrix.ts", "MatrixOptions"],
    ["testing", "src/testing/transcript.ts", "RecordOptions"],
    ["testing", "src/testing/fake-peer.ts", "FakePeer"],
  ])("docs/%s.md names every member of %s %s", (page, file, name) => {
    const members = membersOf(file, name);
    const text = read(`docs/${page}.md`);
    expect(members.length).toBeGreaterThan(0);
    expect(members.filter((member) => !new RegExp(`\\b${member}\\b`).test(text))).toEqual([]);
  });
});

/** Files under a folder that end so; in subfolders only where there are sources. */
function namesIn(folder: string, extension: string): readonly string[] {
  const names = readdirSync(join(root, folder), { recursive: extension === ".ts", encoding: "utf8" });
  return names.filter((name) => name.endsWith(extension)).toSorted();
}

function read(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

/** Whether ARCHITECTURE.md says what a folder is for. */
function hasRow(folder: string): boolean {
  const rows = read("ARCHITECTURE.md").matchAll(/^\| `(src\/[\w/-]+)` \|(.*)\|$/gm);
  const byFolder = new Map([...rows].map(([, path = "", text = ""]) => [path, text]));
  const around = dirname(folder);
  return byFolder.has(folder) || byFolder.get(around)?.includes(`\`${folder.slice(around.length + 1)}/\``) === true;
}

/** The paths of files and folders that the text of a page names. Targets of links are checked on their own. */
function pathsNamedIn(page: string): readonly string[] {
  const text = read(page).replaceAll(/\]\([^)]*\)/g, "]");
  return text.match(/[\w./-]+\.(?:ts|mjs)\b|\b(?:src|test|docs|bench|scripts)\/[\w./-]*[\w-]/g) ?? [];
}

/** Whether a path is one of the repository, of `src`, or the end of the path of a source. */
function isPath(path: string): boolean {
  return (
    [path, join("src", path)].some((place) => existsSync(join(root, place))) ||
    namesIn("src", ".ts").some((source) => source.endsWith(`/${path}`))
  );
}

function write(name: string, text: string): string {
  const path = join(out, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

function blocksOf(page: string): readonly Block[] {
  const folder = page.replace(/^docs\//, "").replace(/\.md$/, "");
  return fencesIn(page).map(({ kind, line, name, code }) => ({
    file: `${folder}/${name ?? `line-${line}`}`,
    kind,
    code: /^\w+:/.test(code) ? `import { tool } from "plugbay/server"; tool({ input: order, ${code}});\n` : code,
  }));
}

/** Rows of tables of options, members or methods that are about more than one of them. */
function sharedRows(text: string): readonly string[] {
  const tables = text.match(/(?:^\|.*\n)+/gm) ?? [];
  return tables.flatMap((table) => {
    const [head = "", , ...rows] = table.trimEnd().split("\n");
    const isOfOptions = /^\| *(?:option|member|method|handle|in a task|`[A-Z]\w+` )/.test(head);
    return isOfOptions ? rows.filter((row) => /^\| `[^`]*`[,;]/.test(row)) : [];
  });
}

/** The members that one interface declares itself. */
function membersOf(file: string, name: string): readonly string[] {
  const body = new RegExp(`^(?:export )?interface ${name}\\b[^{]*\\{\\n(.*?)^\\}`, "ms").exec(read(file))?.[1] ?? "";
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(<]/gm)].map(([, member = ""]) => member);
}

/** Runs a script with this Node, without input, and gives its exit code and everything it said. */
function run(script: string, ...args: readonly string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [script, ...args], { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  return new Promise((done) => child.on("close", (code) => done({ code, output })));
}
