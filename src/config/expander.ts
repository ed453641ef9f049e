import type { Draft, Setting } from "./draft.ts";
import { limits } from "./limits.ts";
import type { ConfigProblem } from "./problem.ts";
import { hidden, maskText } from "./secrets.ts";
import type { FieldOrigin } from "./server-entry.ts";
import type { Part, Reference } from "./template.ts";
import type { Value, Variables } from "./variables.ts";

/** A text with its variables put in. */
export interface Expanded {
  readonly text: string;
  /** As it may be shown. */
  readonly shown: string;
  readonly origin: FieldOrigin;
}

/** What is so about a setting. */
export interface SettingKind {
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

  /** A server that is switched off gets what costs nothing, and complains of nothing. */
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
