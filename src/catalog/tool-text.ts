import { isObject, type Json, type JsonObject } from "../json/json.ts";
import type { CatalogTool } from "./catalog-tool.ts";

/** How much a word counts by where it stands. */
export const weights = { name: 5, title: 3, server: 2, description: 1, property: 1, about: 0.5 } as const;

/** What is read of one text, and of one schema: more says nothing new. */
const MAX_CHARS = 4000;
const MAX_PROPERTIES = 200;
const MAX_DEPTH = 6;

/** Hears a text about a tool, and how much a word in it counts. */
export type TextVisitor = (text: string, weight: number) => void;

/** Visits the texts that a tool is found by: what it is called, what it says, and its arguments. */
export function visitTexts({ server, tool }: CatalogTool, visit: TextVisitor): void {
  const title = tool.title ?? tool.annotations?.title;
  visit(tool.name.slice(0, MAX_CHARS), weights.name);
  if (title !== undefined) visit(title.slice(0, MAX_CHARS), weights.title);
  visit(server, weights.server);
  if (tool.description !== undefined) visit(tool.description.slice(0, MAX_CHARS), weights.description);
  visitSchema(tool.inputSchema, { visit, left: MAX_PROPERTIES }, MAX_DEPTH);
}

interface Walk {
  readonly visit: TextVisitor;
  /** How many properties are still read. */
  left: number;
}

/** Visits the properties of a schema and of what is inside it. */
function visitSchema(schema: Json | undefined, walk: Walk, depth: number): void {
  if (!isObject(schema) || depth === 0) return;
  visitProperties(schema.properties, walk, depth);
  visitSchema(schema.items, walk, depth - 1);
  for (const list of [schema.anyOf, schema.oneOf, schema.allOf]) {
    if (Array.isArray(list)) for (const part of list) visitSchema(part, walk, depth - 1);
  }
}

function visitProperties(properties: Json | undefined, walk: Walk, depth: number): void {
  if (!isObject(properties)) return;
  for (const name of Object.keys(properties)) {
    if (walk.left-- <= 0) return;
    const property = properties[name];
    walk.visit(name.slice(0, MAX_CHARS), weights.property);
    if (isObject(property)) visitDescription(property, walk.visit);
    visitSchema(property, walk, depth - 1);
  }
}

function visitDescription({ description }: JsonObject, visit: TextVisitor): void {
  if (typeof description === "string") visit(description.slice(0, MAX_CHARS), weights.about);
}
