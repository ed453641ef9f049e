import { dialectOf, dialectOfPath } from "../../config/dialects.ts";
import { objectTree, parseConfig } from "../../config/parse-config.ts";
import { readServer } from "../../config/read-server.ts";
import type { Draft } from "../../config/server-draft.ts";
import type { ConfigEdit } from "../../config/server-entry.ts";
import { writeServer } from "../../config/write-server.ts";
import type { JsonObject } from "../../json/json.ts";
import type { CommandContext } from "../command.ts";
import { UsageError } from "../usage-error.ts";
import { readTextIfAny } from "../values/read-text.ts";
import type { EditedFile } from "./edited-file.ts";

interface ServerToSet {
  readonly name: string;
  /** An entry as a file of nobody in particular has it, or what was read of one in another file. */
  readonly entry: JsonObject | Draft;
  /** Whether a server of that name may be replaced. */
  readonly replace: boolean;
}

/** The edit that writes a server into a file in its dialect. Says what the dialect has no word for. */
export async function serverSetter(
  { path, dialect }: EditedFile,
  { name, entry, replace }: ServerToSet,
  context: CommandContext,
): Promise<ConfigEdit> {
  const text = await readTextIfAny(path);
  const found = text === undefined || text.trim() === "" ? undefined : await parseConfig(text, { path, dialect });
  if (!replace && found?.servers.some((server) => server.name === name && server.folder === undefined)) {
    throw new UsageError(
      `the server ${name} is in ${path} already`,
      "replace it with --replace, or choose another name",
    );
  }
  const to = dialectOf(found?.dialect ?? dialect ?? dialectOfPath(path)?.name ?? "generic");
  const draft = isDraft(entry) ? { ...entry, name } : readEntry(name, entry, path, to.name);
  const { entry: written, lost } = writeServer(draft, to);
  for (const field of lost)
    context.say(`${context.style.yellow("warning")}: ${field} is left out: files of ${to.app} cannot say it`);
  return { type: "set", name, entry: written };
}

/** Variables are read as the file has them: what somebody typed is for that file. */
function readEntry(name: string, entry: JsonObject, path: string, dialect: Parameters<typeof dialectOf>[0]): Draft {
  const at = { path };
  const config = { path, dialect, root: [], servers: [], inputs: new Map(), problems: [] };
  return readServer({ name, at, value: objectTree(entry, at) }, config);
}

function isDraft(entry: JsonObject | Draft): entry is Draft {
  return "dialect" in entry && entry.facts !== undefined;
}
