import { dialectOf } from "./dialect.ts";
import { createDraft, type Draft, refuse, type Setting, type Wrong } from "./draft.ts";
import { fieldReaders } from "./fields.ts";
import { limits } from "./limits.ts";
import type { ParsedConfig, RawServer } from "./parse-config.ts";
import { shownName } from "./problem.ts";
import { kindOf, type ObjectNode } from "./tree.ts";

/** What an entry says, in one shape for all dialects. What is wrong with it is in its problems. */
export function readServer({ name, at, value, off }: RawServer, { dialect }: ParsedConfig): Draft {
  const draft = createDraft(name, at, dialectOf(dialect));
  const misnamed = wrongName(name);
  if (misnamed !== undefined) refuse(draft, { at, message: misnamed, hint: "rename it" });
  if (value.kind !== "object") {
    refuse(draft, { at: value.at, message: `a server must be an object, not ${kindOf(value)}` });
    return draft;
  }
  readFields(draft, value);
  if (off !== undefined) {
    draft.enabled = false;
    draft.facts.push({ field: "enabled", shown: "false", secret: false, place: off, variables: [] });
  }
  const wrong = draft.problems.length === 0 ? wrongTarget(draft, value) : undefined;
  if (wrong !== undefined) refuse(draft, wrong);
  else for (const { field, at: place } of unusedIn(draft)) draft.ignored.push({ field, place });
  return draft;
}

/** Names of servers are joined with those of tools by a colon. */
function wrongName(name: string): string | undefined {
  const shown = shownName(name);
  if (name === "") return "a server needs a name";
  if (name.includes(":")) return `the name ${shown} has a colon in it`;
  if (unprintable.test(name)) return `the name ${shown} has control characters in it`;
  if (name.trim() !== name) return `the name ${shown} begins or ends with white space`;
  if (name.length > limits.maxNameLength) return `the name ${shown} is longer than ${limits.maxNameLength} characters`;
  return undefined;
}

const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

function readFields(draft: Draft, node: ObjectNode): void {
  for (const [field, { at, value }] of node.members) {
    const read = fieldReaders.get(field);
    if (read === undefined) draft.ignored.push({ field: shownName(field), place: at });
    else if (value.kind !== "nothing") read(draft, value, field);
  }
}

/** A server is a command or a URL, and says so only once. */
function wrongTarget(draft: Draft, node: ObjectNode): Wrong | undefined {
  const { command, url, type, at } = draft;
  if (command === undefined && url === undefined) return { at, ...missingTarget(node) };
  if (type === undefined) {
    if (command === undefined || url === undefined) return undefined;
    return { at, message: "there is both a command and a URL", hint: "remove one of them, or say which by type" };
  }
  const [wanted, found] = type.is === "stdio" ? ["command", command] : ["URL", url];
  if (found !== undefined) return undefined;
  return { at: type.at, field: "type", message: `the type wants a ${wanted}, and there is none` };
}

/** Whether a draft that has no problems is a program to start. */
export function isCommand({ command, type }: Draft): boolean {
  return command !== undefined && (type === undefined || type.is === "stdio");
}

/** What only the other kind of server has a use for. */
function unusedIn(draft: Draft): readonly Setting[] {
  const { command, args, cwd, envFile, url, headers } = draft;
  const unused = isCommand(draft) ? [url, ...headers.values()] : [command, ...args, cwd, envFile];
  return unused.filter((setting) => setting !== undefined);
}

function missingTarget({ members }: ObjectNode): { readonly message: string; readonly hint: string } {
  const source = members.get("source")?.value;
  if (source?.kind === "text" && source.text === "extension") {
    return { message: "an extension of Zed starts it", hint: "write the command that the extension runs" };
  }
  if (members.has("image")) {
    return {
      message: "there is an image, but no command",
      hint: 'write "docker", with run -i --rm and the image as args',
    };
  }
  return { message: "there is neither a command nor a URL", hint: "write command and args, or url" };
}
