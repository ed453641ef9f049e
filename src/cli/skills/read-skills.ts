import type { Client } from "../../client/client.ts";
import type { Json } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";
import { type Skill, skillProblem, skillsExtension } from "./skill.ts";

interface ReadOptions {
  readonly signal: AbortSignal;
  /** Hears what is wrong with a skill that is left out. */
  onProblem(message: string): void;
}

/** All skills that a server lists. It may have more: those that somebody names are found by {@link readSkill}. */
export async function readSkills(client: Client, { signal, onProblem }: ReadOptions): Promise<readonly Skill[]> {
  requireSkills(client);
  const skills: Skill[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page++) {
    const params = cursor === undefined ? {} : { cursor };
    const { skills: listed, nextCursor } = await client.request("skills/list", params, { signal });
    if (!Array.isArray(listed))
      throw new McpError("invalid-response", "the result of skills/list has no list of skills");
    for (const [at, value] of listed.entries()) {
      const problem = skillProblem(value);
      if (problem === undefined) skills.push(value as unknown as Skill);
      else onProblem(`skill ${at + 1} of the list is left out:${problem}`);
    }
    if (typeof nextCursor !== "string" || nextCursor === cursor) return skills;
    cursor = nextCursor;
  }
  throw new McpError("limit-reached", `the list of skills has more than ${maxPages} pages`);
}

/** One skill, by the URI of its `SKILL.md`. */
export async function readSkill(client: Client, uri: string, signal: AbortSignal): Promise<Skill> {
  requireSkills(client);
  const { skill } = await client.request("skills/get", { uri }, { signal });
  const problem = skillProblem(skill as Json | undefined);
  if (problem !== undefined) throw new McpError("invalid-response", `the skill ${JSON.stringify(uri)}${problem}`);
  return skill as unknown as Skill;
}

/** As many pages as of any other list. */
const maxPages = 1000;

function requireSkills({ server }: Client): void {
  if (server.capabilities.extensions?.[skillsExtension] !== undefined) return;
  const name = JSON.stringify(server.serverInfo.name);
  throw new McpError(
    "unsupported",
    `server ${name} has no skills: it does not declare the extension ${skillsExtension}`,
  );
}
