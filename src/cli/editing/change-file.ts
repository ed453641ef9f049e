import { mkdir, realpath, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { editConfig } from "../../config/edit-config.ts";
import type { ConfigEdit } from "../../config/server-entry.ts";
import { replaceFile } from "../../std/node/replace-file.ts";
import { isSecretName } from "../../std/secret-names.ts";
import { hidden, maskText } from "../../std/secrets.ts";
import type { CommandContext } from "../command.ts";
import { oneLine } from "../terminal/printable.ts";
import { readTextIfAny } from "../values/read-text.ts";
import type { EditedFile } from "./edited-file.ts";
import type { FileChange } from "./file-change.ts";
import { diffLines } from "./line-diff.ts";
import { rememberChange } from "./undo-record.ts";

/** Changes one server of a configuration file, and remembers how it was. With `--dry-run` it shows the difference only. */
export async function changeServer(
  { path, dialect }: EditedFile,
  edit: ConfigEdit,
  context: CommandContext,
  isDryRun: boolean,
): Promise<FileChange> {
  const before = await readTextIfAny(path);
  const after = await editConfig(before ?? "", edit, { path, dialect });
  const change = { path, before, after };
  if (!isDryRun && before !== after) {
    await rememberChange(change, context.env);
    await writeChange(change);
  }
  return change;
}

/** Writes a file so that it is never half written. Links stay links, and modes stay. */
export async function writeChange({ path, after }: FileChange): Promise<void> {
  if (after === undefined) return rm(path, { force: true });
  await mkdir(dirname(path), { recursive: true });
  const target = await realpath(path).catch(() => path);
  const mode = await stat(target).then(
    (found) => found.mode & 0o777,
    // There may be secrets in what is new.
    () => 0o600,
  );
  await replaceFile(target, after, mode);
}

/** Prints what was changed, or would be. What looks like a secret is hidden. */
export function printChange(change: FileChange, said: string, context: CommandContext, isDryRun: boolean): void {
  const { path } = change;
  const { line, removed, added } = diffLines(change.before ?? "", change.after ?? "");
  const isChanged = removed.length + added.length > 0;
  const mask = (lines: readonly string[]): readonly string[] => lines.map(withoutSecret);
  const diff = { line, removed: mask(removed), added: mask(added) };
  context.print({ path, changed: isChanged && !isDryRun, diff }, () => {
    if (!isChanged) return `${path} stays as it is`;
    if (!isDryRun) return said;
    const { red, green, dim } = context.style;
    return [
      dim(`${path}:${line}`),
      ...diff.removed.map((text) => red(`- ${shown(text)}`)),
      ...diff.added.map((text) => green(`+ ${shown(text)}`)),
    ].join("\n");
  });
}

/** A line without the value of what is named like a secret, and without what looks like one. */
function withoutSecret(line: string): string {
  const [, start, name = ""] = /^(\s*["']?([\w.-]+)["']?\s*[:=]\s*)["']/.exec(line) ?? [];
  return start !== undefined && isSecretName(name) ? `${start}${hidden}` : maskText(line);
}

function shown(text: string): string {
  const [indent = ""] = /^[ \t]*/.exec(text) ?? [];
  return indent + oneLine(text.slice(indent.length), 1000);
}
