import { isObject, type JsonObject } from "../json/json.ts";
import type { SamplingContent } from "../protocol/input.ts";
import type { Tool } from "../protocol/tool.ts";
import { inspectSchema } from "../schema/inspect.ts";
import { normalizeSchema } from "../schema/normalize.ts";
import { resolveSchema } from "../schema/resolve.ts";
import { toValidator } from "../schema/to-validator.ts";
import type { Validator } from "../schema/validator.ts";
import { type Aliases, createAliases, type NameRule, toolNames } from "./alias.ts";
import type { SchemaNote, SkippedTool, ToolkitOptions } from "./bridge.ts";
import type { Lowered, Lowering } from "./lower/lower.ts";

/** A tool as it is offered to a provider. */
export interface Offer<P> {
  /** The name of the tool at its server. */
  readonly name: string;
  /** The name that the provider gets. */
  readonly alias: string;
  readonly title?: string;
  /** Empty when the server sent none. */
  readonly description: string;
  readonly lowered: Lowered<P>;
  /** Validates arguments against the input schema of the server. */
  readonly validator: Validator;
}

/** All that is offered, and what is not. */
export interface Offers<P> extends Aliases {
  readonly list: readonly Offer<P>[];
  readonly skipped: readonly SkippedTool[];
  readonly notes: readonly SchemaNote[];
  /** The offer that a provider calls by this name. */
  find(alias: string): Offer<P> | undefined;
}

interface OfferOptions<P> extends Omit<ToolkitOptions, "validate"> {
  readonly lowering: Lowering<P>;
  readonly names?: NameRule;
}

/** Makes tools ready for a provider. One that cannot be offered is skipped; it never keeps others from being offered. */
export function createOffers<P>(tools: readonly Tool[], options: OfferOptions<P>): Offers<P> {
  const { lowering, names = toolNames, maxTools = Infinity, maxDescriptionLength = Infinity } = options;
  const aliases = createAliases(
    tools.map((tool) => String(tool?.name)),
    names,
  );
  const offers = new Map<string, Offer<P>>();
  const skipped: SkippedTool[] = [];
  const notes: SchemaNote[] = [];

  for (const tool of tools) {
    const name = String(tool?.name);
    const read = offers.has(name) ? "another tool has the same name" : readTool(tool, lowering);
    const made = typeof read === "string" || offers.size < maxTools ? read : `only ${maxTools} tools can be offered`;
    if (typeof made === "string") {
      skipped.push({ name, reason: made });
      continue;
    }
    const { title } = tool;
    const description = typeof tool.description === "string" ? tool.description : "";
    const isLong = description.length > maxDescriptionLength;
    notes.push(...made.lowered.notes.map((note) => ({ tool: name, ...note })));
    if (isLong) {
      notes.push({ tool: name, pointer: "", keyword: "description", message: `cut to ${maxDescriptionLength}` });
    }
    offers.set(name, {
      ...made,
      name,
      alias: aliases.aliasOf(name),
      description: isLong ? `${description.slice(0, maxDescriptionLength - 1)}…` : description,
      ...(typeof title === "string" && { title }),
    });
  }

  return {
    ...aliases,
    list: [...offers.values()],
    skipped,
    notes,
    find(alias) {
      const name = aliases.nameOf(alias);
      return name === undefined ? undefined : offers.get(name);
    },
  };
}

/** What is needed to offer a tool, or why it cannot be offered. */
function readTool<P>(tool: Tool, lowering: Lowering<P>): Pick<Offer<P>, "lowered" | "validator"> | string {
  if (!isObject(tool) || typeof tool.name !== "string" || tool.name === "") return "it has no name";
  const read = toValidator(schemaOf(tool));
  const problem = read.ok ? referenceProblem(read.value.json) : read.problem;
  if (!read.ok || problem !== undefined) return `its input schema cannot be used: ${problem}`;
  const lowered = lowering(read.value.json);
  if (lowered === undefined) return "its input schema accepts no object, and arguments are always one";
  return { lowered, validator: read.value };
}

/** What is wrong with the references of a schema. Lowering knows those into the whole schema, by the rules of two drafts. */
function referenceProblem(schema: JsonObject): string | undefined {
  const inspection = inspectSchema(schema);
  const resolution = inspection.ok ? resolveSchema(inspection.value) : inspection;
  const normal = inspection.ok ? normalizeSchema(inspection.value) : inspection;
  if (!resolution.ok) return resolution.problem;
  if (!normal.ok) return normal.problem;
  for (const { at, draft, resource } of resolution.value.schemas.values()) {
    if (resource.root !== schema) return `${at} is in a part with an $id of its own`;
    if (draft !== 7 && draft !== 2020) return `${at} is neither of 2020-12 nor of draft 7`;
  }
  return undefined;
}

/**
 * The input schema of a tool, or that of any object when the tool has none. An invalid schema is reported when it is
 * read.
 */
function schemaOf({ inputSchema }: { readonly inputSchema?: unknown }): JsonObject {
  return inputSchema === undefined || inputSchema === null || inputSchema === true
    ? anyObject
    : (inputSchema as JsonObject);
}

const anyObject: JsonObject = { type: "object" };

/**
 * Metadata that a provider needs back with a piece of content, such as the reasoning before a call.
 *
 * The key is the identity of the content object in this process, so that data from elsewhere cannot forge metadata. A
 * copy of the content has none.
 */
export interface ProviderMetadata<K> {
  /** The content itself. */
  save<C extends SamplingContent>(content: C, metadata: K): C;
  find(content: SamplingContent): K | undefined;
}

export function createProviderMetadata<K>(): ProviderMetadata<K> {
  const kept = new WeakMap<SamplingContent, K>();
  return {
    save(content, metadata) {
      kept.set(content, metadata);
      return content;
    },
    find: (content) => kept.get(content),
  };
}
