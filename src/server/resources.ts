import { McpError } from "../model/errors.ts";
import type { Result } from "../model/methods.ts";
import type { Resource, ResourceTemplate } from "../model/resource.ts";
import type { Call, Outcome } from "../model/service.ts";
import { defined } from "../std/defined.ts";
import type { MatchedVariables } from "../std/uri-template-match.ts";
import type { ResourceDefinition } from "./define-resource.ts";
import { badDefinition, describe } from "./description.ts";
import type { Environment } from "./environment.ts";
import type { Job } from "./execution.ts";
import { handlerJob } from "./handler-job.ts";
import { kit } from "./kit.ts";
import { createRegistry, type Registry } from "./registry.ts";

interface Fixed {
  readonly definition: ResourceDefinition;
  readonly listed: Resource;
}

interface Template {
  readonly definition: ResourceDefinition;
  readonly listed: ResourceTemplate;
  readonly match: (uri: string) => MatchedVariables | undefined;
}

/** The resources and templates of a server. */
export interface ResourceShelf {
  /** True once there was any, also when it is gone again. */
  wasUsed(): boolean;
  readonly templates: Registry<Template, Result<"resources/templates/list">>;
  define(definition: ResourceDefinition): void;
  /** By URI or template. False when there is none. */
  remove(uri: string): boolean;
  has(uri: string): boolean;
  uris(): readonly string[];
  list(call: Call<"resources/list">): Outcome<"resources/list"> | Promise<Outcome<"resources/list">>;
  read(call: Call<"resources/read">): Outcome<"resources/read"> | Promise<Outcome<"resources/read">>;
}

export function createResourceShelf(env: Environment, onChange: () => void): ResourceShelf {
  const { pageSize, cache } = env;
  const fixed = createRegistry<Fixed, Result<"resources/list">>({
    noun: "resource",
    pageSize,
    render: (items, next) => Object.freeze({ resources: items.map((item) => item.listed), ...next, ...cache }),
    onChange,
  });
  const templates = createRegistry<Template, Result<"resources/templates/list">>({
    noun: "resource template",
    pageSize,
    render: (items, next) => Object.freeze({ resourceTemplates: items.map((item) => item.listed), ...next, ...cache }),
    onChange,
  });

  /** Exact resources win over templates, earlier templates over later ones. */
  const find = (uri: string): { definition: ResourceDefinition; variables: MatchedVariables } | undefined => {
    const exact = fixed.get(uri);
    if (exact !== undefined) return { definition: exact.definition, variables: {} };
    for (const { definition, match } of templates.values()) {
      const variables = match(uri);
      if (variables !== undefined) return { definition, variables };
    }
    return undefined;
  };

  /** What templates list comes after the fixed resources, on the last page. */
  const withListed = (page: Result<"resources/list">): Job =>
    handlerJob<readonly (readonly Resource[])[]>(env, {
      method: "resources/list",
      run: () => Promise.all(templates.values().map(({ definition }) => definition.list?.() ?? [])),
      finish: (lists) => ({
        kind: "complete",
        result: { ...page, resources: [...page.resources, ...lists.flat()] },
      }),
    });

  return {
    wasUsed: () => fixed.wasUsed() || templates.wasUsed(),
    templates,
    define(definition) {
      if (typeof definition?.uri !== "string" || definition[kit] === undefined) {
        throw badDefinition(`resource ${definition?.uri}`, "it must be made by resource()");
      }
      if (!definition.uri.includes("{")) fixed.add(definition.uri, readyFixed(definition));
      else templates.add(definition.uri, readyTemplate(definition));
    },
    remove: (uri) => fixed.remove(uri) || templates.remove(uri),
    has: (uri) => fixed.get(uri) !== undefined || templates.get(uri) !== undefined,
    uris: () => [...fixed.names(), ...templates.names()],
    list(call) {
      const page = fixed.page(call.params.cursor);
      const listing = templates.values().some(({ definition }) => definition.list !== undefined);
      if (!listing || page.nextCursor !== undefined) return { kind: "complete", result: page };
      return env.runner.run(call, withListed(page)) as Outcome<"resources/list">;
    },
    read(call) {
      const { uri } = call.params;
      const found = find(uri);
      if (found === undefined) throw notFound(uri);
      const { definition, variables } = found;
      const job = handlerJob(env, {
        method: "resources/read",
        name: uri,
        run: (context) => definition.read(variables, context),
        finish(value) {
          const result = definition[kit].toReadResult(value, uri, { ...env.cache, ...definition });
          if (result === undefined) throw notFound(uri);
          return { kind: "complete", result };
        },
      });
      return env.runner.run(call, job) as Outcome<"resources/read">;
    },
  };
}

function notFound(uri: string): McpError {
  return new McpError("resource-not-found", `no resource ${uri}`, { data: { uri } });
}

function readyFixed(definition: ResourceDefinition): Fixed {
  const { uri, size } = definition;
  if (!URL.canParse(uri)) throw badDefinition(`resource ${uri}`, "it is no absolute URI");
  return { definition, listed: Object.freeze({ uri, ...describeResource(definition), ...defined({ size }) }) };
}

function readyTemplate(definition: ResourceDefinition): Template {
  const { uri } = definition;
  const template = definition[kit].readTemplate(uri);
  if (!template.ok) throw badDefinition(`resource ${uri}`, template.problem);
  const listed = Object.freeze({ uriTemplate: uri, ...describeResource(definition) });
  return { definition, match: template.match, listed };
}

function describeResource(definition: ResourceDefinition) {
  const { uri, name = uri, mimeType, annotations, read } = definition;
  const owner = `resource ${uri}`;
  if (typeof read !== "function") throw badDefinition(owner, "read must be a function");
  return { name, ...describe(owner, definition), ...defined({ mimeType, annotations }) };
}
