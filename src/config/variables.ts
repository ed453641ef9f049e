import { hidden, maskText } from "../std/secrets.ts";
import { baseName, type ConfigEnvironment, folderOf, isAbsolute, joinPath, projectFolder } from "./environment.ts";
import type { ConfigInput } from "./inputs.ts";
import { type ConfigProblem, shownName } from "./problem.ts";
import type { Draft, Part, Reference, Setting } from "./server-draft.ts";
import type { FieldOrigin } from "./server-entry.ts";
import { limits } from "./tree.ts";

/** The value of a variable, or why it has none. */
type Value =
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

interface FileText {
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
  readonly environment: ConfigEnvironment;
  /** What was asked for already: every input is asked for once. */
  readonly answers: Map<ConfigInput, Promise<Value>>;
  /** Called with every file that is read. */
  readonly onFile: (path: string) => void;
}

export function createVariables({
  path,
  inputs,
  environment,
  answers,
  onFile,
  ...options
}: VariablesOptions): Variables {
  const folder = options.folder ?? projectFolder(path);

  const resolveFrom = (base: string, name: string): string => {
    const { userHome } = environment;
    if (userHome !== undefined && /^~(?:[\\/]|$)/.test(name)) return joinPath(userHome, name.slice(2));
    return isAbsolute(name) ? name : joinPath(base, name);
  };

  const readFile: Variables["readFile"] = async (name, from) => {
    const place = resolveFrom(from === "project" ? folder : folderOf(path), name);
    onFile(place);
    return { path: place, text: await readQuietly(environment, place) };
  };

  const findFile = async ({ name }: Reference): Promise<Value> => {
    const { text } = await readFile(name, "config");
    if (text !== undefined) return { ok: true, text: text.replace(/\r?\n$/, ""), secret: true };
    const hint = environment.readText === undefined ? "files cannot be read here" : "create it, or correct the path";
    return { ok: false, message: `needs the file ${shownName(maskText(name))}, which cannot be read`, hint };
  };

  const findInput = ({ name }: Reference): Promise<Value> => {
    const input = inputs.get(name);
    const answer = (input && answers.get(input)) ?? askFor(name, input, environment);
    if (input !== undefined) answers.set(input, answer);
    return answer;
  };

  return {
    readFile,
    resolvePath: (name) => resolveFrom(folder, name),
    async find(reference) {
      switch (reference.source) {
        case "env":
          return findEnv(reference, environment);
        case "input":
          return findInput(reference);
        case "file":
          return findFile(reference);
        case "place":
          return findPlace(reference, folder, environment);
      }
    },
  };
}

async function readQuietly({ readText }: ConfigEnvironment, path: string): Promise<string | undefined> {
  try {
    const text = await readText?.(path);
    return text === undefined || text.length > limits.maxValueLength ? undefined : text;
  } catch {
    return undefined;
  }
}

function findEnv({ name, fallback, written }: Reference, { env = {} }: ConfigEnvironment): Value {
  const value = Object.hasOwn(env, name) ? env[name] : undefined;
  if (value !== undefined && (value !== "" || fallback === undefined)) return { ok: true, text: value, secret: true };
  if (fallback !== undefined) return { ok: true, text: fallback, secret: true };
  const other = written === `\${${name}}` ? `, or write ${written.slice(0, -1)}:-…} to have a default` : "";
  // The reference may contain a token instead of the name of a variable, so it is not shown.
  const shown = shownName(maskText(name));
  return { ok: false, message: `needs the variable ${shown}, which is not set`, hint: `set ${shown}${other}` };
}

async function askFor(id: string, input: ConfigInput | undefined, environment: ConfigEnvironment): Promise<Value> {
  const { inputs = {}, onInput } = environment;
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
    message: `has a value for ${shownName(input.id)} that is not one of its options`,
    hint: `pick one of ${names}`,
  };
}

function findPlace({ name }: Reference, folder: string, environment: ConfigEnvironment): Value {
  const { userHome, pathSeparator = "/" } = environment;
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

/** A text with its variables put in. */
export interface Expanded {
  readonly text: string;
  /** As it may be shown. */
  readonly shown: string;
  readonly origin: FieldOrigin;
}

/** What is so about a setting. */
interface SettingKind {
  /** All of it may be a secret. */
  readonly sensitive?: boolean;
  /** Values that the entry has itself: used, or left for the program to put in. */
  readonly own?: ReadonlyMap<string, string> | "left";
}

/** Puts variables into the settings of one server, and remembers what came of it. */
export interface Expander {
  /** Undefined when a value is missing; why is among the problems. */
  expand(setting: Setting, kind?: SettingKind): Promise<Expanded | undefined>;
  /** Notes something that is wrong. */
  refuse(setting: Pick<Setting, "field" | "at">, message: string, hint?: string): void;
  /** Everything that must not be shown. */
  readonly secrets: Set<string>;
  readonly problems: readonly ConfigProblem[];
}

export function createExpander(draft: Draft, variables: Variables, lenient: boolean): Expander {
  const problems: ConfigProblem[] = [];
  const secrets = new Set<string>();

  const note = (level: ConfigProblem["level"], { field, at }: Pick<Setting, "field" | "at">, more: Noted): void => {
    problems.push({ level, place: at, server: draft.name, field, ...more, message: `${field} ${more.message}` });
  };

  /** For a disabled server, only inexpensive values are resolved, and no problems are reported. */
  const find = async (part: Reference, { own }: SettingKind): Promise<Value | undefined> => {
    const costs = part.source === "input" || part.source === "file";
    if (!draft.enabled && costs) return undefined;
    const value = await variables.find(part);
    if (value.ok || part.source !== "env" || own === undefined) return value;
    if (own === "left") return draft.env.has(part.name) ? undefined : value;
    const text = own.get(part.name);
    return text === undefined ? value : { ok: true, text, secret: true };
  };

  const putReference = async (part: Reference, setting: Setting, kind: SettingKind): Promise<Piece | undefined> => {
    const left = { text: part.written, shown: part.written };
    const value = await find(part, kind);
    if (value?.ok) {
      const { text, secret } = value;
      return { text, shown: secret ? hidden : text, secret, name: part.name };
    }
    if (value === undefined || !draft.enabled) return left;
    const { message, hint } = value;
    note(lenient ? "warning" : "error", setting, { message, hint, variable: maskText(part.name) });
    return lenient ? left : undefined;
  };

  /** The text of a part, and how it is shown. Undefined when there is none. */
  const put = async (part: Part, setting: Setting, kind: SettingKind): Promise<Piece | undefined> => {
    switch (part.kind) {
      case "text":
        return { text: part.text, shown: part.text };
      case "reference":
        return putReference(part, setting, kind);
      case "foreign":
        if (draft.enabled && !draft.env.has(part.name)) note("warning", setting, foreign(draft, part));
        return { text: part.written, shown: part.written };
      case "nested":
        note("error", setting, { message: "has a variable within a variable", hint: "give it a value of its own" });
        return undefined;
    }
  };

  return {
    problems,
    secrets,
    refuse: (setting, message, hint) => note("error", setting, { message, ...(hint !== undefined && { hint }) }),
    async expand(setting, kind = {}) {
      const pieces: Piece[] = [];
      let complete = true;
      let length = 0;
      for (const part of setting.parts) {
        const piece = await put(part, setting, kind);
        length += piece?.text.length ?? 0;
        if (piece === undefined || length > limits.maxValueLength) complete = false;
        else pieces.push(piece);
      }
      if (length > limits.maxValueLength)
        note("error", setting, { message: `becomes longer than ${limits.maxValueLength}` });
      for (const { text, secret } of pieces) if (secret) secrets.add(text);
      return complete ? toExpanded(setting, pieces, kind, secrets) : undefined;
    },
  };
}

interface Piece {
  readonly text: string;
  readonly shown: string;
  readonly secret?: boolean;
  /** The variable that it came from. */
  readonly name?: string;
}

interface Noted {
  readonly message: string;
  readonly hint?: string;
  readonly variable?: string;
}

function toExpanded(setting: Setting, pieces: readonly Piece[], kind: SettingKind, secrets: Set<string>): Expanded {
  const text = pieces.map((piece) => piece.text).join("");
  const sensitive = kind.sensitive === true && text !== "";
  if (sensitive) for (const secret of [text, ...text.split(/\s+/)]) secrets.add(secret);
  const shown = sensitive ? hidden : maskText(pieces.map((piece) => piece.shown).join(""));
  const names = pieces.flatMap(({ name }) => (name === undefined ? [] : maskText(name)));
  const origin: FieldOrigin = {
    field: setting.field,
    shown,
    secret: sensitive || shown !== text,
    place: setting.at,
    variables: [...new Set(names)],
  };
  return { text, shown, origin };
}

function foreign({ dialect }: Draft, { written, name }: { readonly written: string; readonly name: string }): Noted {
  const message = `has ${maskText(written)} in it, which stays as it is`;
  if (dialect.variables.length === 0) return { message, hint: `files of ${dialect.app} have no variables` };
  if (!/^\w+$/.test(name)) return { message };
  return { message, hint: dialect.variables.includes("editor") ? `write \${env:${name}}` : `write {env:${name}}` };
}
