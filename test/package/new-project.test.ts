import { type ChildProcess, exec, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { quietPort } from "../support/quiet-port.ts";
import { serveRegistry } from "./local-registry.ts";
import { mistaken, mistakes, placeOf } from "./mistakes.ts";
import { type Compiler, compilers, createWorkspace, type Project, type Workspace } from "./project.ts";
import { isServer, needsNodeTypes, type Program, portsIn, readPrograms, withPorts } from "./readme.ts";

// What somebody meets who installs the package in an empty project and follows the README.

/** Compilers take long where others have the processor. */
const patience = 600_000;

const lowest: Compiler = "TypeScript 5.7";
const names = Object.keys(compilers) as Compiler[];
let workspace: Workspace;
let programs: readonly Program[];

beforeAll(async () => {
  const written = readPrograms("README.md");
  const ports = new Map<string, number>();
  for (const port of portsIn(written)) ports.set(port, await quietPort());
  programs = written.map((program) => withPorts(program, ports));
  workspace = await createWorkspace("zod");
}, patience);

afterAll(() => workspace[Symbol.asyncDispose]());

function create(compiler: Compiler, hasNodeTypes: boolean, more: Readonly<Record<string, string>> = {}) {
  const compiled = hasNodeTypes ? programs : programs.filter((program) => !needsNodeTypes(program));
  const files = Object.fromEntries(compiled.map(({ file, code }) => [file, code]));
  // Node 20 cannot run what this compiler leaves as it is for the newest target.
  const compilerOptions = compiler === lowest ? { target: "es2022" } : {};
  return workspace.createProject({ compiler, hasNodeTypes, files: { ...files, ...entries, ...more }, compilerOptions });
}

const manifest = JSON.parse(readFileSync("package.json", "utf8"));
const optionalPeers = Object.keys(manifest.peerDependenciesMeta);
/** The entry that is about an optional peer, and of no use without it. */
const needsPeer = "plugbay/otel";

/** Declarations of every other entry are checked, whether the README has something of it or not. */
const entries = {
  "entries.ts": Object.keys(manifest.exports)
    .filter((name) => name !== "./package.json")
    .map((name) => name.replace(".", "plugbay"))
    .filter((entry) => entry !== needsPeer)
    .map((entry, index) => `export * as entry${index} from "${entry}";\n`)
    .join(""),
};

describe.each(names)("with %s", (compiler) => {
  it("the README compiles in an empty project without @types/node (T1, I11)", { timeout: patience }, async () => {
    const project = await create(compiler, false);
    expect(optionalPeers.filter((name) => isInstalled(name, project.folder))).toEqual([]);
    expect(await project.compile()).toBe("");
  });

  it("the README compiles with @types/node, and mistakes are named where they are (T1, T2, I11)", {
    timeout: patience,
  }, async () => {
    const project = await create(compiler, true, mistaken);
    const problems = (await project.compile()).split(/\n(?=\S)/).filter((text) => text !== "");
    const found = mistakes.map(({ name, message }, index) => {
      const place = placeOf(index);
      const said = problems.filter((text) => text.startsWith(`${place}: error `) && text.includes(message));
      return `${name}: ${said.length}`;
    });
    expect(found, problems.join("\n")).toEqual(mistakes.map(({ name }) => `${name}: 1`));
    expect(problems, problems.join("\n")).toHaveLength(mistakes.length);
  });
});

it(`${needsPeer} compiles where its peer is installed (T1)`, { timeout: patience }, async () => {
  await using other = await createWorkspace("@opentelemetry/api");
  const files = { "otel.ts": `export * from "${needsPeer}";\n` };
  for (const compiler of names) {
    const project = await other.createProject({ compiler, hasNodeTypes: false, files });
    expect(optionalPeers.filter((name) => isInstalled(name, project.folder))).toEqual(["@opentelemetry/api"]);
    expect(await project.compile(), compiler).toBe("");
  }
});

describe("the commands of the README, as they stand", () => {
  it.each(names)(
    "make a project in an empty folder in which its programs compile and run, with %s (T1)",
    {
      timeout: patience,
    },
    async (compiler) => {
      await using project = await createEmptyProject(compiler);
      const { commands, compileAndRun } = readCommands("README.md");
      for (const command of commands) await project.run(command);
      // Only what a dependency brings is there: prom-client has the API of OpenTelemetry.
      expect(optionalPeers.filter((name) => existsSync(join(project.folder, "node_modules", name)))).toEqual([
        "@opentelemetry/api",
      ]);
      for (const { file, code } of programs) writeFileSync(join(project.folder, file), code);
      const [compile = "", serve = ""] = compileAndRun.split(" && ");
      expect(await project.run(compile)).toBe("");
      const [runtime, script] = serve.split(" ");
      expect(runtime).toBe("node");
      const server = start(project, { file: script ?? "", code: "" });
      try {
        const [port] = portsIn(programs.filter(isServer));
        await Promise.race([isReached(Number(port)), endedEarly(server)]);
        const ended = await end(start(project, { file: "client.js", code: "" }));
        expect(ended).toEqual({ code: 0, said: "3\n" });
      } finally {
        server.child.kill("SIGKILL");
      }
    },
  );
});

it("the programs of the README run (T1)", { timeout: patience }, async () => {
  expect(programs.length).toBeGreaterThanOrEqual(2);
  const project = await create(lowest, true);
  expect(await project.compile()).toBe("");
  const servers = programs.filter(isServer).map((program) => start(project, program));
  try {
    const ports = portsIn(programs.filter(isServer)).map(Number);
    await Promise.race([Promise.all(ports.map(isReached)), ...servers.map(endedEarly)]);
    for (const program of programs.filter((program) => !isServer(program))) {
      const ended = await end(start(project, program));
      expect(ended, program.file).toMatchObject({ code: 0 });
    }
  } finally {
    for (const { child } of servers) child.kill("SIGKILL");
  }
});

/** The commands on the first screen of a page, and the one that it says a program is run with. */
function readCommands(page: string) {
  const text = readFileSync(page, "utf8");
  const [, block = ""] = /^```sh\n([\s\S]*?)```$/m.exec(text) ?? [];
  const commands = block.split("\n").map((line) => line.replace(/\s+#.*$/, ""));
  const [, compileAndRun = ""] = /`(npx tsc && node \S+)` runs it/.exec(text) ?? [];
  expect(commands.filter((command) => command !== "").length).toBeGreaterThanOrEqual(4);
  return { commands: commands.filter((command) => command !== ""), compileAndRun };
}

interface EmptyProject extends AsyncDisposable {
  readonly folder: string;
  /** Runs a line of a shell in the folder. Gives what it said, and fails if its exit code is not 0. */
  run(command: string): Promise<string>;
}

/** A folder as `npm init -y` leaves it, with a registry that has the packed package and this compiler. */
async function createEmptyProject(compiler: Compiler): Promise<EmptyProject> {
  const root = mkdtempSync(join(tmpdir(), "plugbay-empty-"));
  const folder = join(root, "calc");
  mkdirSync(folder);
  writeFileSync(join(root, "npmrc"), "");
  const registry = await serveRegistry({ plugbay: workspace.tarball, typescript: compilers[compiler] });
  const env = {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name))),
    npm_config_registry: registry.url,
    npm_config_cache: join(root, "cache"),
    npm_config_userconfig: join(root, "npmrc"),
    npm_config_update_notifier: "false",
  };
  const run = (command: string) => promisify(exec)(command, { cwd: folder, env }).then(({ stdout }) => stdout);
  await run("npm init -y");
  return {
    folder,
    run,
    async [Symbol.asyncDispose]() {
      await registry[Symbol.asyncDispose]();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

function isInstalled(name: string, folder: string): boolean {
  const places = createRequire(join(folder, "any.js")).resolve.paths(name) ?? [];
  return places.some((place) => existsSync(join(place, name)));
}

interface Started {
  readonly child: ChildProcess;
  /** What it said so far. */
  said(): string;
}

function start({ folder }: Pick<Project, "folder">, { file }: Program): Started {
  const script = join(folder, file.replace(/\.ts$/, ".js"));
  const child = spawn(process.execPath, [script], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
  }
  return { child, said: () => text };
}

async function end({ child, said }: Started): Promise<{ readonly code: number | null; readonly said: string }> {
  const [code] = (await once(child, "close")) as [number | null];
  return { code, said: said() };
}

async function endedEarly(started: Started): Promise<never> {
  const { code, said } = await end(started);
  throw new Error(`a server ended with ${code}: ${said}`);
}

/** Resolves once somebody listens at a port. */
async function isReached(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, "127.0.0.1");
    const reached = await new Promise<boolean>((resolve) => {
      socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    });
    socket.destroy();
    if (reached) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
