import { createHash } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stateFolder } from "../../auth/node/file-tokens.ts";
import { isObject } from "../../json/json.ts";
import { parseJson } from "../../json/parse.ts";
import { UsageError } from "../usage-error.ts";
import { readTextIfAny } from "../values/read-text.ts";
import type { FileChange } from "./file-change.ts";

/** The last change, as it is kept: the text before, and a digest of the text after. */
export interface UndoRecord {
  readonly path: string;
  /** Null where there was no file. */
  readonly before: string | null;
  readonly afterDigest: string;
}

/** Keeps how a file was before it is changed. Only the owner can read it, as secrets of the file are in it. */
export async function rememberChange({ path, before, after }: FileChange, env: NodeJS.ProcessEnv): Promise<void> {
  const folder = join(stateFolder(env), "plugbay");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const record: UndoRecord = { path, before: before ?? null, afterDigest: digestOf(after) };
  await rm(recordPath(env), { force: true });
  await writeFile(recordPath(env), JSON.stringify(record), { mode: 0o600, flag: "wx" });
}

/** The last change, or undefined when there is none to undo. Rejects where the record of it cannot be understood. */
export async function lastChange(env: NodeJS.ProcessEnv): Promise<UndoRecord | undefined> {
  const path = recordPath(env);
  const text = await readTextIfAny(path);
  if (text === undefined) return undefined;
  const parsed = parseJson(text);
  if (parsed.ok && isRecord(parsed.value)) return parsed.value;
  throw new UsageError(`${path} is broken: it does not say what the last change was`, `delete it: rm ${path}`);
}

/** Forgets the last change. */
export function forgetChange(env: NodeJS.ProcessEnv): Promise<void> {
  return rm(recordPath(env), { force: true });
}

/** A digest that tells whether a file is still what it was changed to. */
export function digestOf(text: string | undefined): string {
  return createHash("sha256")
    .update(text ?? "")
    .digest("hex");
}

function recordPath(env: NodeJS.ProcessEnv): string {
  return join(stateFolder(env), "plugbay", "undo.json");
}

function isRecord(value: unknown): value is UndoRecord {
  if (!isObject(value)) return false;
  const { path, before, afterDigest } = value;
  return typeof path === "string" && typeof afterDigest === "string" && (before === null || typeof before === "string");
}
