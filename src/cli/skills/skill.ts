import { aListOf, aNumber, anObject, aString, type Check } from "../../json/check.ts";
import type { Json, JsonObject } from "../../json/json.ts";

/** The extension of servers that have skills: instructions for agents, as files that are read as resources. */
export const skillsExtension = "io.modelcontextprotocol/skills";

/** A file of a skill. */
export interface SkillFile {
  readonly uri: string;
  /** `sha256:` and 64 hexadecimal figures. */
  readonly digest: string;
  readonly size: number;
}

/** What a server says of one skill. */
export interface Skill {
  /** The URI of its `SKILL.md`. */
  readonly uri: string;
  /** What stands at the head of `SKILL.md`. */
  readonly frontmatter: JsonObject & { readonly name: string; readonly description: string };
  /** All of its files, or `dynamic` where they are made when they are read. */
  readonly resources: readonly SkillFile[] | "dynamic";
}

/** What is wrong with a skill, worded to follow its name. Undefined when nothing is. */
export function skillProblem(value: Json | undefined): string | undefined {
  return aSkill(value);
}

const files = aListOf(anObject({ uri: aString, digest: aString, size: aNumber }));

const filesOrDynamic: Check = (value) => (value === "dynamic" ? undefined : files(value));

const aSkill: Check = anObject({
  uri: aString,
  frontmatter: anObject({ name: aString, description: aString }),
  resources: filesOrDynamic,
});
