import type { Client } from "../../client/client.ts";
import type { JsonObject } from "../../json/json.ts";
import type { Tool } from "../../protocol/tool.ts";
import { fieldsOf } from "../values/signature.ts";

/** What a shell can complete: names of what the server has, fetched once and kept by the client. */
export interface ShellNames {
  readonly commands: readonly string[];
  readonly client: Client;
}

/** What the last word of a line could be, and that word. Nothing where the server does not answer. */
export async function completeLine(line: string, names: ShellNames): Promise<[string[], string]> {
  const words = line.split(/\s+/);
  const last = words.at(-1) ?? "";
  const all = await candidates(words.slice(0, -1), names).catch(() => []);
  const fitting = all.filter((one) => one.startsWith(last));
  const [only = ""] = fitting;
  // A name is over when there is one only; a value has to follow its argument.
  return [fitting.length === 1 && !only.endsWith("=") ? [`${only} `] : fitting, last];
}

async function candidates(
  [first, ...more]: readonly string[],
  { commands, client }: ShellNames,
): Promise<readonly string[]> {
  if (first === undefined) return [...commands, ...(await toolsOf(client)).map(({ name }) => name)];
  const of = byCommand[first];
  return of === undefined ? argumentsOf(await toolsOf(client), first, more) : of(client, more);
}

/** What may follow the name of a command. */
const byCommand: Readonly<Record<string, (client: Client, typed: readonly string[]) => Promise<readonly string[]>>> = {
  call: async (client, [name, ...typed]) => {
    const tools = await toolsOf(client);
    return name === undefined ? namesOf(tools) : argumentsOf(tools, name, typed);
  },
  tools: async (client, typed) => (typed.length === 0 ? namesOf(await toolsOf(client)) : []),
  read: (client, typed) => urisOf(client, typed),
  watch: (client, typed) => urisOf(client, typed),
  prompt: (client, typed) => promptsOf(client, typed),
  complete: (client, typed) => promptsOf(client, typed),
};

function namesOf(items: readonly { readonly name: string }[]): readonly string[] {
  return items.map(({ name }) => name);
}

async function promptsOf(client: Client, [name]: readonly string[]): Promise<readonly string[]> {
  const prompts = client.server.capabilities.prompts === undefined ? [] : await client.listPrompts();
  if (name === undefined) return namesOf(prompts);
  const prompt = prompts.find((one) => one.name === name);
  return (prompt?.arguments ?? []).map((argument) => `${argument.name}=`);
}

async function toolsOf(client: Client): Promise<readonly Tool[]> {
  return client.server.capabilities.tools === undefined ? [] : client.listTools();
}

async function urisOf(client: Client, typed: readonly string[]): Promise<readonly string[]> {
  if (typed.length > 0 || client.server.capabilities.resources === undefined) return [];
  return (await client.listResources()).map(({ uri }) => uri);
}

/** `sku=`, and for one of several values each of them. Arguments that were given are left out. */
function argumentsOf(tools: readonly Tool[], name: string, typed: readonly string[]): readonly string[] {
  const tool = tools.find((one) => one.name === name);
  if (tool === undefined) return [];
  return fieldsOf(tool.inputSchema)
    .filter(({ name: argument }) => !typed.some((word) => word.startsWith(`${argument}=`)))
    .flatMap(({ name: argument, field }) => [
      `${argument}=`,
      ...valuesOf(field).map((value) => `${argument}=${value}`),
    ]);
}

function valuesOf(field: JsonObject): readonly string[] {
  if (field.type === "boolean") return ["true", "false"];
  return Array.isArray(field.enum) ? field.enum.map(String) : [];
}
