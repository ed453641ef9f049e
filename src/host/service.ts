import { asJson } from "../json/json.ts";
import { type Failure, McpError, toFailure } from "../model/errors.ts";
import type { DiscoverResult, Method } from "../model/methods.ts";
import type { Implementation, ServerCapabilities } from "../model/peer.ts";
import { revisions } from "../model/revision.ts";
import { type Call, type Outcome, onAbort, type Service } from "../model/service.ts";
import { changeToNotification, honoured, isWanted } from "../model/subscription.ts";
import { tasksExtension } from "../model/task.ts";
import type { ChangeFeed } from "./change-feed.ts";
import type { HostTool } from "./host-tool.ts";
import type { Listings } from "./listings.ts";
import { createPassage, promptName } from "./passage.ts";
import { createResourceDesk } from "./resource-desk.ts";
import type { Routes } from "./routes.ts";
import type { Seat } from "./seat.ts";
import type { ToolCalls } from "./tool-calls.ts";

export interface HostServiceOptions {
  readonly seats: ReadonlyMap<string, Seat>;
  readonly routes: Routes;
  readonly listings: Listings;
  readonly toolCalls: ToolCalls;
  readonly changes: ChangeFeed;
  readonly info: Implementation;
}

type Handlers = { readonly [M in Method]?: (call: Call<M>) => Promise<Outcome<M>> };

/**
 * A host as a server: its tools and prompts have their aliases for names, its
 * resources their own URIs. Calls are handed on as they are, so that questions
 * of modern servers reach whoever calls; older servers ask the host.
 */
export function createHostService(options: HostServiceOptions): Service {
  const { seats, routes, listings, toolCalls, changes, info } = options;
  const passage = createPassage({ seats, routes, toolCalls, prompts: listings.prompts });
  const resources = createResourceDesk({ seats, listings, pass: passage.to });

  const handlers: Handlers = {
    "server/discover": async () => ({ kind: "complete", result: describe(seats, info) }),
    "tools/list": async ({ signal }) => {
      const tools = await listings.tools({ signal });
      return { kind: "complete", result: { tools: tools.map(toPlain) } };
    },
    "tools/call": passage.tool,
    "prompts/list": async ({ signal }) => {
      const prompts = await listings.prompts({ signal });
      const placed = prompts.map(({ server, ...prompt }) => ({ ...prompt, name: promptName(server, prompt.name) }));
      return { kind: "complete", result: { prompts: placed } };
    },
    "prompts/get": passage.prompt,
    "resources/list": async ({ signal }) => ({
      kind: "complete",
      result: { resources: await resources.list(signal) },
    }),
    "resources/templates/list": async ({ signal }) => ({
      kind: "complete",
      result: { resourceTemplates: await resources.templates(signal) },
    }),
    "resources/read": resources.read,
    "completion/complete": (call) =>
      call.params.ref.type === "ref/prompt" ? passage.completePrompt(call) : resources.complete(call),
    "subscriptions/listen": (call) => listen(call, changes, resources.owners),
    "tasks/get": passage.task,
    "tasks/update": passage.task,
    "tasks/cancel": passage.task,
    "tasks/result": passage.task,
  };

  const service = async (call: Call): Promise<Outcome> => {
    const handle = handlers[call.method] as ((call: Call) => Promise<Outcome>) | undefined;
    if (handle === undefined) return failed({ code: "method-not-found", message: `unknown method ${call.method}` });
    try {
      return await handle(call);
    } catch (error) {
      if (error instanceof McpError) return failed(toFailure(error));
      return failed({ code: "internal", message: `${call.method} failed` });
    }
  };
  return service as Service;
}

/** All that a host may have. Which of its servers has what may change at any time. */
const capabilities: ServerCapabilities = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  completions: {},
  extensions: { [tasksExtension]: {} },
};

/** Says what the servers that are connected tell models: nobody is waited for. */
function describe(seats: ReadonlyMap<string, Seat>, serverInfo: Implementation): DiscoverResult {
  const texts = [...seats.values()].flatMap(({ name, member }) => {
    const text = member.line?.client.server.instructions;
    return text === undefined ? [] : [`# ${name}\n\n${text}`];
  });
  return {
    supportedVersions: [...revisions].reverse(),
    capabilities,
    ...(texts.length > 0 && { instructions: texts.join("\n\n") }),
    serverInfo,
  };
}

function toPlain({
  server: _,
  localName: __,
  alias,
  ...tool
}: HostTool): Omit<HostTool, "server" | "localName" | "alias"> {
  return { ...tool, name: alias };
}

/** Tells of changes until the call ends. */
async function listen(
  call: Call<"subscriptions/listen">,
  changes: ChangeFeed,
  ownersOf: (uris: readonly string[]) => Promise<readonly { readonly server: string; readonly uri: string }[]>,
): Promise<Outcome<"subscriptions/listen">> {
  const filter = honoured(call.params.notifications, capabilities);
  const over = new AbortController();
  onAbort(call, () => over.abort());
  const resources = await ownersOf(filter.resourceSubscriptions ?? []);
  const feed = changes({ resources, signal: over.signal });
  await feed.ready;
  call.notify("notifications/subscriptions/acknowledged", { notifications: asJson(filter) });
  for await (const { server: _, ...change } of feed) {
    if (!isWanted(change, filter)) continue;
    const [method, params] = changeToNotification(change);
    await call.notify(method, params);
  }
  return { kind: "complete", result: {} };
}

function failed(failure: Failure): Outcome {
  return { kind: "failed", failure };
}
