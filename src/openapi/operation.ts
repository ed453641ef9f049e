import { isObject, type JsonObject } from "../json/json.ts";
import { type Documents, followed, type Located, member, members, OperationProblem, objectAt } from "./references.ts";

/** One operation of a document, with what it takes from its path. References of its parts are followed. */
export interface Operation {
  /** In capitals. */
  readonly method: string;
  /** As the document writes it: `/pets/{petId}`. */
  readonly path: string;
  readonly source: JsonObject;
  readonly operationId: string | undefined;
  readonly tags: readonly string[];
  readonly isDeprecated: boolean;
  readonly parameters: readonly Parameter[];
  /** Undefined for an operation without a body. */
  readonly body: Located | undefined;
  /** By status, such as `200`, `2XX` and `default`. */
  readonly responses: readonly (readonly [status: string, response: Located])[];
  /** Alternatives, each of which is a set of schemes with their scopes. Empty: no credential is needed. */
  readonly security: readonly JsonObject[];
  /** Those that are meant for it: its own, those of its path, or those of the document. */
  readonly servers: Located;
}

export type ParameterPlace = "path" | "query" | "header" | "cookie";

export interface Parameter {
  readonly name: string;
  readonly place: ParameterPlace;
  readonly isRequired: boolean;
  readonly source: Located;
}

/** An operation that was found, and how to read the rest of it. */
export interface FoundOperation extends Pick<Operation, "method" | "path" | "operationId" | "tags" | "isDeprecated"> {
  /** Throws `OperationProblem` when a part of it cannot be used. */
  read(): Operation;
}

/** Operations in the order of the document. */
export function findOperations(
  root: Located,
  documents: Documents,
  warn: (message: string) => void,
): readonly FoundOperation[] {
  return members(member(root, "paths")).flatMap(([path, item]) => {
    if (!path.startsWith("/")) return [];
    const followedItem = itemAt(item, documents, (problem) => warn(`the path ${path} is left out: ${problem}`));
    return methods.flatMap((method) => {
      const operation = member(followedItem, method);
      return isObject(operation.value) ? [found({ root, documents, path, item: followedItem, method, operation })] : [];
    });
  });
}

/** What is at a path. Nothing where its reference leads nowhere. */
function itemAt(item: Located, documents: Documents, onProblem: (problem: string) => void): Located {
  try {
    return followed(item, documents);
  } catch (error) {
    if (!(error instanceof OperationProblem)) throw error;
    onProblem(error.message);
    return { ...item, value: undefined };
  }
}

/** `trace` is for proxies; it is left out. */
const methods = ["get", "head", "options", "post", "put", "patch", "delete"] as const;

interface Finding {
  readonly root: Located;
  readonly documents: Documents;
  readonly path: string;
  readonly item: Located;
  readonly method: string;
  readonly operation: Located;
}

function found({ root, documents, path, item, method, operation }: Finding): FoundOperation {
  const source = objectAt(operation);
  const { operationId, tags } = source;
  const known = {
    method: method.toUpperCase(),
    path,
    operationId: typeof operationId === "string" && operationId !== "" ? operationId : undefined,
    tags: Array.isArray(tags) ? tags.map(String) : [],
    isDeprecated: source.deprecated === true,
  };
  return {
    ...known,
    read() {
      const body = member(operation, "requestBody");
      return {
        ...known,
        source,
        parameters: parametersOf(item, operation, documents),
        body: body.value === undefined ? undefined : followed(body, documents),
        responses: members(member(operation, "responses")).map(([status, at]) => [status, followed(at, documents)]),
        security: securityOf(source.security ?? objectAt(root).security),
        servers: [operation, item, root].map((at) => member(at, "servers")).find(hasItems) ?? member(root, "servers"),
      };
    },
  };
}

function hasItems({ value }: Located): boolean {
  return Array.isArray(value) && value.length > 0;
}

function securityOf(security: unknown): readonly JsonObject[] {
  return Array.isArray(security) ? security.filter(isObject) : [];
}

/** Parameters of the path and of the operation. Of two with the same name and place, that of the operation counts. */
function parametersOf(item: Located, operation: Located, documents: Documents): readonly Parameter[] {
  const all = new Map<string, Parameter>();
  for (const owner of [item, operation]) {
    for (const [, at] of members(member(owner, "parameters"))) {
      const parameter = readParameter(followed(at, documents));
      if (parameter !== undefined) all.set(`${parameter.place} ${parameter.name}`, parameter);
    }
  }
  return [...all.values()];
}

function readParameter(source: Located): Parameter | undefined {
  const { name, in: place, required } = objectAt(source);
  if (typeof name !== "string" || !isPlace(place)) return undefined;
  return { name, place, isRequired: required === true || place === "path", source };
}

function isPlace(place: unknown): place is ParameterPlace {
  return place === "path" || place === "query" || place === "header" || place === "cookie";
}
