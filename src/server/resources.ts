import type { Result } from "../protocol/methods.ts";
import type { Call, Outcome } from "../protocol/service.ts";
import { badDefinition, kit } from "./definition.ts";
import type { Environment } from "./environment.ts";
import { createRegistry, type Listed, type Registry } from "./registry.ts";
import { notFound, type ReadyResource, type ReadyTemplate, type ResourceDefinition } from "./resource.ts";

/** The resources and templates of a server. What serves them comes with their definitions. */
export interface ResourceRegistry {
  readonly fixed: Registry<ReadyResource, Result<"resources/list">>;
  /** True once there was a resource, also when it was removed. */
  wasUsed(): boolean;
  readonly templates: Registry<ReadyTemplate, Result<"resources/templates/list">>;
  define(definition: ResourceDefinition): void;
  /** By URI or template. False when there is none. */
  remove(uri: string): boolean;
  has(uri: string): boolean;
  uris(): readonly string[];
  list(call: Call<"resources/list">): Outcome<"resources/list"> | Promise<Outcome<"resources/list">>;
  read(call: Call<"resources/read">): Outcome<"resources/read"> | Promise<Outcome<"resources/read">>;
}

export function createResourceRegistry(env: Environment, onChange: () => void): ResourceRegistry {
  const fixed = createRegistry<ReadyResource, Result<"resources/list">>({
    noun: "resource",
    member: "resources",
    env,
    onChange,
  });
  const templates = createRegistry<ReadyTemplate, Result<"resources/templates/list">>({
    noun: "resource template",
    member: "resourceTemplates",
    env,
    onChange,
  });

  /** Adds the resources of templates, on the last page. */
  const withTemplates = (call: Call<"resources/list">, listed: Listed<Result<"resources/list">>) => {
    if (listed.kind !== "complete" || listed.result.nextCursor !== undefined) return listed;
    const listing = templates.values().find(({ definition }) => definition.list !== undefined);
    if (listing === undefined) return listed;
    return listing.definition[kit].list(call, listed.result, templates.values(), env);
  };

  return {
    wasUsed: () => fixed.wasUsed() || templates.wasUsed(),
    fixed,
    templates,
    define(definition) {
      if (typeof definition?.uri !== "string" || definition[kit] === undefined) {
        throw badDefinition(`resource ${definition?.uri}`, "it must be made by resource()");
      }
      const { readyResource, readyTemplate } = definition[kit];
      if (!definition.uri.includes("{")) fixed.add(definition.uri, readyResource(definition));
      else templates.add(definition.uri, readyTemplate(definition));
    },
    remove: (uri) => fixed.remove(uri) || templates.remove(uri),
    has: (uri) => fixed.get(uri) !== undefined || templates.get(uri) !== undefined,
    uris: () => [...fixed.names(), ...templates.names()],
    list(call) {
      const listed = fixed.list(call);
      return listed instanceof Promise ? listed.then((it) => withTemplates(call, it)) : withTemplates(call, listed);
    },
    read(call) {
      const { uri } = call.params;
      const exact = fixed.get(uri);
      const reader = exact ?? templates.values()[0];
      if (reader === undefined) throw notFound(uri);
      return reader.definition[kit].read(call, exact, templates.values(), env);
    },
  };
}
