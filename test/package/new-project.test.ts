import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { quietPort } from "../support/quiet-port.ts";
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
  workspace = await createWorkspace();
}, patience);

afterAll(() => workspace[Symbol.asyncDispose]());

function create(compiler: Compiler, hasNodeTypes: boolean, more: Readonly<Record<string, string>> = {}) {
  const compiled = hasNodeTypes ? programs : programs.filter((program) => !needsNodeTypes(program));
  const files = Object.fromEntries(compiled.map(({ file, code }) => [file, code]));
  // Node 20 cannot run what this compiler leaves as it is for the newest target.
  const compilerOptions = compiler === lowest ? { target: "es2022" } : {};
  return workspace.createProject({ compiler, hasNodeTypes, files: { ...files, ...entries, ...more }, compilerOptions });
}

/** Declarations of every entry are checked, whether the README has something of it or not. */
const entries = {
  "entries.ts": Object.keys(JSON.parse(readFileSync("package.json", "utf8")).exports)
    .filter((name) => name !== "./package.json")
    .map((name) => name.replace(".", "plugbay"))
    .map((entry, index) => `export * as entry${index} from "${entry}";\n`)
    .join(""),
};

describe.each(names)("with %s", (compiler) => {
  it("the README compiles in an empty project without @types/node (T1, I11)", { timeout: patience }, async () => {
    const project = await create(compiler, false);
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

interface Started {
  readonly child: ChildProcess;
  /** What it said so far. */
  said(): string;
}

function start({ folder }: Project, { file }: Program): Started {
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
