import type { ConfigInput } from "./input.ts";
import { limits } from "./limits.ts";
import { baseName, folderOf, isAbsolute, joinPath, projectFolder } from "./paths.ts";
import { shownName } from "./problem.ts";
import { maskText } from "./secrets.ts";
import type { Surroundings } from "./surroundings.ts";
import type { Reference } from "./template.ts";

/** The value of a variable, or why there is none. */
export type Value =
  | { readonly ok: true; readonly text: string /** It may be a secret. */; readonly secret: boolean }
  | { readonly ok: false; readonly message: string; readonly hint: string };

/** Finds the values of variables for one file. */
export interface Variables {
  find(reference: Reference): Promise<Value>;
  /** The text of a file that is named in the configuration; relative paths begin at the project. */
  readFile(path: string, from: "project" | "config"): Promise<FileText>;
  /** A path as seen from the project. */
  resolvePath(path: string): string;
}

export interface FileText {
  /** Where it was looked for. */
  readonly path: string;
  /** Undefined when it cannot be read. */
  readonly text: string | undefined;
}

export interface VariablesOptions {
  readonly path: string;
  /** The folder of the project. Default: the one the file is for. */
  readonly folder?: string | undefined;
  readonly inputs: ReadonlyMap<string, ConfigInput>;
  readonly surroundings: Surroundings;
  /** What was asked for already: every input is asked for once. */
  readonly answers: Map<ConfigInput, Promise<Value>>;
  /** Told of every file that was asked for. */
  readonly onFile: (path: string) => void;
}

export function createVariables({
  path,
  inputs,
  surroundings,
  answers,
  onFile,
  ...options
}: VariablesOptions): Variables {
  const folder = options.folder ?? projectFolder(path);

  const resolveFrom = (base: string, name: string): string => {
    const { userHome } = surroundings;
    if (userHome !== undefined && /^~(?:[\\/]|$)/.test(name)) return joinPath(userHome, name.slice(2));
    return isAbsolute(name) ? name : joinPath(base, name);
  };

  const readFile: Variables["readFile"] = async (name, from) => {
    const place = resolveFrom(from === "project" ? folder : folderOf(path), name);
    onFile(place);
    return { path: place, text: await readQuietly(surroundings, place) };
  };

  const findFile = async ({ name }: Reference): Promise<Value> => {
    const { text } = await readFile(name, "config");
    if (text !== undefined) return { ok: true, text: text.replace(/\r?\n$/, ""), secret: true };
    const hint = surroundings.readText === undefined ? "files cannot be read here" : "create it, or correct the path";
    return { ok: false, message: `needs the file ${shownName(maskText(name))}, which cannot be read`, hint };
  };

  const findInput = ({ name }: Reference): Promise<Value> => {
    const input = inputs.get(name);
    const answer = (input && answers.get(input)) ?? askFor(name, input, surroundings);
    if (input !== undefined) answers.set(input, answer);
    return answer;
  };

  return {
    readFile,
    resolvePath: (name) => resolveFrom(folder, name),
    async find(reference) {
      switch (reference.source) {
        case "env":
          return findEnv(reference, surroundings);
        case "input":
          return findInput(reference);
        case "file":
          return findFile(reference);
        case "place":
          return findPlace(reference, folder, surroundings);
      }
    },
  };
}

async function readQuietly({ readText }: Surroundings, path: string): Promise<string | undefined> {
  try {
    const text = await readText?.(path);
    return text === undefined || text.length > limits.maxValueLength ? undefined : text;
  } catch {
    return undefined;
  }
}

function findEnv({ name, fallback, written }: Reference, { env = {} }: Surroundings): Value {
  const value = Object.hasOwn(env, name) ? env[name] : undefined;
  if (value !== undefined && (value !== "" || fallback === undefined)) return { ok: true, text: value, secret: true };
  if (fallback !== undefined) return { ok: true, text: fallback, secret: true };
  const other = written === `\${${name}}` ? `, or write ${written.slice(0, -1)}:-…} to have a default` : "";
  // Somebody may have written a token where the name of a variable belongs.
  const shown = shownName(maskText(name));
  return { ok: false, message: `needs the variable ${shown}, which is not set`, hint: `set ${shown}${other}` };
}

async function askFor(id: string, input: ConfigInput | undefined, surroundings: Surroundings): Promise<Value> {
  const { inputs = {}, onInput } = surroundings;
  const known = Object.hasOwn(inputs, id) ? inputs[id] : undefined;
  if (known !== undefined) return picked(known, input);
  const name = shownName(maskText(id));
  if (input === undefined) {
    return { ok: false, message: `needs the input ${name}, which is not defined`, hint: "define it in inputs" };
  }
  if (input.type === "command") {
    const hint = `give the value of ${name} yourself`;
    return { ok: false, message: `needs the input ${name}, which a command would give; commands are not run`, hint };
  }
  const answer = (await onInput?.(input)) ?? input.default;
  if (answer !== undefined) return picked(answer, input);
  const about = onInput === undefined ? "which was not given" : "which was not answered";
  return { ok: false, message: `needs the input ${name}, ${about}`, hint: `give a value for ${name}` };
}

function picked(text: string, input: ConfigInput | undefined): Value {
  const isOption = input?.options === undefined || input.options.some(({ value }) => value === text);
  if (input?.type !== "pick" || isOption) return { ok: true, text, secret: true };
  const names = input.options?.map(({ label }) => shownName(maskText(label))).join(", ");
  return {
    ok: false,
    message: `has a value for ${shownName(input.id)} that is no option`,
    hint: `pick one of ${names}`,
  };
}

function findPlace({ name }: Reference, folder: string, surroundings: Surroundings): Value {
  const { userHome, pathSeparator = "/" } = surroundings;
  if (name === "pathSeparator" || name === "/") return { ok: true, text: pathSeparator, secret: false };
  if (name === "userHome") {
    if (userHome !== undefined) return { ok: true, text: userHome, secret: false };
    return { ok: false, message: "needs userHome, which is not known here", hint: "give userHome" };
  }
  if (folder === "") {
    return { ok: false, message: `needs ${name}, which is not known here`, hint: "give workspaceFolder" };
  }
  return { ok: true, text: name === "workspaceFolderBasename" ? baseName(folder) : folder, secret: false };
}
