import { join } from "node:path";
import type { ExitCode } from "../../../src/cli/command.ts";
import { root } from "../../e2e/support/places.ts";
import { shop, shopFile } from "./cli.ts";

// How every command ends, by what happens to it: a table that `failures.test.ts` runs, and looks for holes.

export const categories = [
  "success",
  "wrong arguments",
  "an unreachable server",
  "a crashing server",
  "a server that needs a sign-in",
  "a broken configuration file",
] as const;

export type Category = (typeof categories)[number];

/** A command line and how it ends. */
export interface Run {
  readonly line: readonly string[];
  readonly code: ExitCode;
  /** What it has to say, on stdout or stderr. */
  readonly says: RegExp;
  readonly input?: string;
  /** It runs until it is interrupted, which is done once it has said this. */
  readonly until?: RegExp;
  /** Lines that run before, and succeed. */
  readonly before?: readonly (readonly string[])[];
}

/** A reason why this cannot happen to the command. */
export interface NotApplicable {
  readonly notApplicable: string;
}

/** A test in another file of this folder, for what takes more than a line. */
export interface Elsewhere {
  readonly file: string;
  readonly test: string;
}

export type Case = Run | NotApplicable | Elsewhere;

/** Servers that fail. In the configuration file they have the names `far`, `dead` and `guarded`, beside the good `shop`. */
export interface Failing {
  /** A URL where nobody listens. */
  readonly closed: string;
  /** A URL that answers 401. */
  readonly guarded: string;
}

const children = join(root, "test", "fixtures", "children");
const skilled = ["--", process.execPath, join(children, "skills-server.mjs")];
const dead = ["--", process.execPath, join(children, "dies-at-once.mjs")];
const diedSaying = /exited with code 4[\s\S]*no key/;
const broken: Pick<Run, "code" | "says"> = { code: 2, says: /mcp\.json:1:\d+/ };
const not = (notApplicable: string): NotApplicable => ({ notApplicable });
const connectsToNone = not("it connects to no server");
const readsNoConfig = not("it reads no configuration file");

/** A command whose first argument is its target. */
function withTarget(
  name: string,
  { args = [], success }: { readonly args?: readonly string[]; readonly success: Omit<Run, "code"> | Elsewhere },
): (servers: Failing) => Readonly<Record<Category, Case>> {
  // The options of a tool are known when there is a tool.
  const wrong = name === "call" ? ["--timeout", "soon"] : ["--timeuot", "3s"];
  return ({ closed, guarded }) => ({
    success: "line" in success ? { code: 0, ...success } : success,
    "wrong arguments": { line: [name, closed, ...args, ...wrong], code: 2, says: /--timeout/ },
    "an unreachable server": { line: [name, closed, ...args], code: 3, says: /refused/ },
    "a crashing server": { line: [name, ...args, ...dead], code: 3, says: diedSaying },
    "a server that needs a sign-in": { line: [name, guarded, ...args], code: 4, says: /plugbay login http/ },
    "a broken configuration file": { line: [name, "shop", ...args], ...broken },
  });
}

/** A command that connects to servers of the configuration file by their names. */
function byName({
  lineFor,
  ...more
}: Pick<Record<Category, Case>, "success" | "wrong arguments"> & {
  readonly lineFor: (server: string) => readonly string[];
}): () => Readonly<Record<Category, Case>> {
  return () => ({
    ...more,
    "an unreachable server": { line: lineFor("far"), code: 3, says: /refused/ },
    "a crashing server": { line: lineFor("dead"), code: 3, says: diedSaying },
    "a server that needs a sign-in": { line: lineFor("guarded"), code: 4, says: /sign|unauthorized|401/ },
    "a broken configuration file": { line: lineFor("shop"), ...broken },
  });
}

/** A command that has nothing to do with servers. */
function alone(
  success: Run,
  wrong: Run,
  { crash = connectsToNone, config = readsNoConfig }: { readonly crash?: Case; readonly config?: Case } = {},
): () => Readonly<Record<Category, Case>> {
  return () => ({
    success,
    "wrong arguments": wrong,
    "an unreachable server": connectsToNone,
    "a crashing server": crash,
    "a server that needs a sign-in": connectsToNone,
    "a broken configuration file": config,
  });
}

const throwing = { code: 2, says: /throws\.mjs cannot be loaded: Error: no shelf/ } as const;

/** Every command, by its name. */
export const everyCommand: Readonly<Record<string, (servers: Failing) => Readonly<Record<Category, Case>>>> = {
  tools: withTarget("tools", { success: { line: ["tools", ...shop], says: /buy/ } }),
  call: withTarget("call", {
    args: ["buy"],
    success: { line: ["call", "buy", "sku=A", ...shop], says: /"sku":"A"/ },
  }),
  resources: withTarget("resources", { success: { line: ["resources", ...shop], says: /stock:\/\/all/ } }),
  read: withTarget("read", {
    args: ["stock://all"],
    success: { line: ["read", "stock://all", ...shop], says: /7 left/ },
  }),
  prompts: withTarget("prompts", { success: { line: ["prompts", ...shop], says: /upsell/ } }),
  prompt: withTarget("prompt", {
    args: ["upsell"],
    success: { line: ["prompt", "upsell", "sku=A1", ...shop], says: /add-on for A1/ },
  }),
  complete: withTarget("complete", {
    args: ["upsell", "sku=A"],
    success: { line: ["complete", "upsell", "sku=A", ...shop], says: /A1\nA2/ },
  }),
  skills: withTarget("skills", { success: { line: ["skills", ...skilled], says: /refunds +skill:/ } }),
  conform: withTarget("conform", { success: { line: ["conform", ...shop], says: /initialize|passed/ } }),
  ping: withTarget("ping", { success: { line: ["ping", ...shop], says: /shop 1\.2\.3/ } }),
  watch: withTarget("watch", { success: { line: ["watch", ...shop], says: /watching/, until: /watching/ } }),
  tasks: withTarget("tasks", {
    success: { file: "use.test.ts", test: "starts a task, shows it, waits for it and cancels another" },
  }),
  shell: withTarget("shell", { success: { line: ["shell", ...shop], input: "ping\n", says: /shop 1\.2\.3/ } }),
  types: withTarget("types", { success: { line: ["types", ...shop], says: /export/ } }),
  bench: withTarget("bench", {
    args: ["buy", "sku=A"],
    success: { line: ["bench", "buy", "sku=A", "--count", "3", ...shop], says: /throughput/ },
  }),
  record: withTarget("record", {
    args: ["-o", "failed.ndjson"],
    success: { line: ["record", "-o", "recorded.ndjson", "tools", ...shop], says: /buy/ },
  }),
  doctor: (servers) => ({
    ...withTarget("doctor", { success: { line: ["doctor", ...shop], says: /articles answered/ } })(servers),
    "a crashing server": { line: ["doctor", ...dead], code: 3, says: /ended with code 4 .*no key/ },
  }),

  list: () => ({
    success: { line: ["list"], code: 0, says: /shop[\s\S]*guarded/ },
    "wrong arguments": { line: ["list", "--conect"], code: 2, says: /--connect/ },
    "an unreachable server": { line: ["list", "--connect", "--config", "far.json"], code: 3, says: /refused/ },
    "a crashing server": { line: ["list", "--connect", "--config", "dead.json"], code: 3, says: diedSaying },
    "a server that needs a sign-in": {
      line: ["list", "--connect", "--config", "guarded.json"],
      code: 4,
      says: /needs-auth/,
    },
    "a broken configuration file": { line: ["list"], ...broken },
  }),
  diff: byName({
    success: { line: ["diff", "shop", "shop"], code: 0, says: /no differences/ },
    "wrong arguments": { line: ["diff", "shop"], code: 2, says: /two sides/ },
    lineFor: (server) => ["diff", server, server],
  }),
  test: byName({
    success: { line: ["test", "calls.yaml", "--target", "shop"], code: 0, says: /1 passed/ },
    "wrong arguments": { line: ["test"], code: 2, says: /needs a file/ },
    lineFor: (server) => ["test", "calls.yaml", "--target", server],
  }),
  replay: byName({
    success: { line: ["replay", "list.ndjson", "--against", "shop"], code: 0, says: /1 requests repeated, 0 answers/ },
    "wrong arguments": { line: ["replay"], code: 2, says: /needs a recording/ },
    lineFor: (server) => ["replay", "list.ndjson", "--against", server],
  }),
  lock: byName({
    success: { line: ["lock", "shop", "--file", "new.lock"], code: 0, says: /wrote/ },
    "wrong arguments": { line: ["lock", "shp"], code: 2, says: /no server "shp"/ },
    lineFor: (server) => ["lock", server],
  }),
  approve: byName({
    success: { line: ["approve", "shop", "--yes", "--file", "new.lock"], code: 0, says: /wrote|nothing to approve/ },
    "wrong arguments": { line: ["approve"], code: 2, says: /needs the name/ },
    lineFor: (server) => ["approve", server, "--yes"],
  }),
  // What it connects to was approved while it worked.
  check: () => ({
    success: {
      before: [["lock", "shop", "--file", "good.lock"]],
      line: ["check", "shop", "--file", "good.lock"],
      code: 0,
      says: /everything is as it was approved/,
    },
    "wrong arguments": { line: ["check", "--file"], code: 2, says: /--file/ },
    "an unreachable server": { file: "lock.test.ts", test: "that is gone ends with 3" },
    "a crashing server": { file: "lock.test.ts", test: "that crashes ends with 3" },
    "a server that needs a sign-in": { file: "lock.test.ts", test: "that needs a sign-in ends with 4" },
    "a broken configuration file": { line: ["check", "--file", "empty.lock"], ...broken },
  }),

  login: ({ closed }) => ({
    success: { file: "sign-in.test.ts", test: "signs in, so that other commands need not ask" },
    "wrong arguments": { line: ["login", ...shop], code: 2, says: /URL/ },
    "an unreachable server": { line: ["login", closed, "--tokens", "file"], code: 3, says: /refused|reached/ },
    "a crashing server": not("it is for servers at URLs"),
    "a server that needs a sign-in": { file: "sign-in.test.ts", test: "signs in, so that other commands need not ask" },
    "a broken configuration file": { line: ["login", "shop"], ...broken },
  }),
  logout: ({ guarded }) => ({
    success: { file: "sign-in.test.ts", test: "signs out, here and at the issuer" },
    "wrong arguments": { line: ["logout", ...shop], code: 2, says: /URL/ },
    "an unreachable server": {
      file: "sign-in.test.ts",
      test: "signs out here when the issuer is unreachable, and says so",
    },
    "a crashing server": not("it is for servers at URLs"),
    "a server that needs a sign-in": { line: ["logout", guarded], code: 0, says: /nobody is signed in/ },
    "a broken configuration file": { line: ["logout", "shop"], ...broken },
  }),
  whoami: ({ guarded }) => ({
    success: { file: "sign-in.test.ts", test: "signs in, so that other commands need not ask" },
    "wrong arguments": { line: ["whoami", ...shop], code: 2, says: /URL/ },
    "an unreachable server": not("it looks at what is kept here"),
    "a crashing server": not("it looks at what is kept here"),
    "a server that needs a sign-in": { line: ["whoami", guarded], code: 4, says: /plugbay login http/ },
    "a broken configuration file": { line: ["whoami", "shop"], ...broken },
  }),

  // A server that fails is told of, and is served again when it is back.
  gateway: () => {
    const serve = (name: string, says: RegExp): Run => ({
      line: ["gateway", `${name}.json`, "--port", "0"],
      code: 0,
      says,
      until: new RegExp(`${name} (down|needs-auth|ready)`),
    });
    return {
      success: serve("shop", /shop ready/),
      "wrong arguments": { line: ["gateway", "--workers", "0"], code: 2, says: /--workers takes a number/ },
      "an unreachable server": serve("far", /far down: .*refused/),
      "a crashing server": serve("dead", /dead down: .*no key/),
      "a server that needs a sign-in": serve("guarded", /guarded needs-auth/),
      "a broken configuration file": { line: ["gateway", "mcp.json", "--port", "0"], ...broken },
    };
  },
  warm: alone({ line: ["warm"], code: 0, says: /nothing is kept/ }, { line: ["warm", "stopp"], code: 2, says: /stop/ }),
  tee: () => ({
    success: { line: ["tee", "tee.ndjson", ...shop], code: 0, says: /^$/ },
    "wrong arguments": { line: ["tee", "tee.ndjson"], code: 2, says: /a file and a command/ },
    "an unreachable server": { line: ["tee", "tee.ndjson", "--", "no-such-program"], code: 3, says: /cannot start/ },
    "a crashing server": { line: ["tee", "tee.ndjson", ...dead], code: 1, says: /no key/ },
    "a server that needs a sign-in": not("it is for programs"),
    "a broken configuration file": readsNoConfig,
  }),
  init: alone(
    { line: ["init", "made", "--no-install"], code: 0, says: /made made/ },
    { line: ["init", "one", "two"], code: 2, says: /"two"/ },
  ),
  serve: alone(
    { line: ["serve", shopFile], code: 0, says: /^$/ },
    { line: ["serve"], code: 2, says: /a file is needed/ },
    { crash: { line: ["serve", "throws.mjs"], ...throwing } },
  ),
  dev: alone(
    { line: ["dev", shopFile, "0"], code: 0, says: /serving at/, until: /serving at/ },
    { line: ["dev"], code: 2, says: /a file is needed/ },
    {
      crash: {
        line: ["dev", "throws.mjs", "0"],
        code: 0,
        says: /throws\.mjs cannot be loaded: Error: no shelf/,
        until: /waiting for the file to change/,
      },
    },
  ),
  add: alone(
    { line: ["add", "docs", "https://example.com/mcp", "--file", "added.json"], code: 0, says: /added docs/ },
    { line: ["add"], code: 2, says: /needs a name/ },
    { config: { line: ["add", "docs", "https://example.com/mcp"], ...broken } },
  ),
  remove: alone(
    { line: ["remove", "far", "--file", "spare.json"], code: 0, says: /removed far/ },
    { line: ["remove"], code: 2, says: /needs the name/ },
    { config: { line: ["remove", "shop"], ...broken } },
  ),
  install: alone(
    { line: ["install", shopFile, "--file", "installed.json"], code: 0, says: /installed shop-server/ },
    { line: ["install", shopFile], code: 2, says: /needs an editor/ },
    { config: { line: ["install", "shop", "--for", "cursor"], ...broken } },
  ),
  undo: alone(
    {
      before: [["add", "docs", "https://example.com/mcp", "--file", "undone.json"]],
      line: ["undo"],
      code: 0,
      says: /brought .*undone\.json back/,
    },
    { line: ["undo", "it"], code: 2, says: /"it"/ },
  ),
  pack: alone(
    { line: ["pack", "project", "--mcpb"], code: 0, says: /wrote/ },
    { line: ["pack"], code: 2, says: /there is no .*package\.json/ },
  ),
  config: alone(
    { line: ["config"], code: 0, says: /mcp\.json/ },
    { line: ["config", "shw"], code: 2, says: /show/ },
    { config: { line: ["config"], ...broken } },
  ),
  completion: alone(
    { line: ["completion", "bash"], code: 0, says: /complete -F _plugbay/ },
    { line: ["completion", "ksh"], code: 2, says: /bash, zsh or fish/ },
  ),
  "run-file": alone(
    { line: ["run-file", shopFile], code: 0, says: /^$/ },
    { line: ["run-file"], code: 2, says: /needs a file/ },
    { crash: { line: ["run-file", "throws.mjs"], ...throwing } },
  ),
  // `--warm` starts it: nobody types it.
  "warm-keep": ({ closed, guarded }) => ({
    success: { file: "warm.test.ts", test: "is used with PLUGBAY_WARM=1, and not without" },
    "wrong arguments": { line: ["warm-keep", "x"], code: 2, says: /needs the id/ },
    "an unreachable server": { line: ["--warm", "tools", closed], code: 3, says: /refused/ },
    "a crashing server": { line: ["--warm", "tools", ...dead], code: 3, says: /no key/ },
    "a server that needs a sign-in": { line: ["--warm", "tools", guarded], code: 4, says: /plugbay login http/ },
    "a broken configuration file": { line: ["--warm", "tools", "shop"], ...broken },
  }),
};
