import type { Method } from "../../model/methods.ts";
import { type Change, dropMeta, inEach, inMember, inOrder, keeping, ofType, same } from "./change.ts";
import type { Dialect } from "./dialect.ts";

/**
 * How a dialect says the result of each method.
 *
 * Made once for a dialect, so that what it does not change is not even walked.
 * A method nobody described is said as it is.
 */
export function createResultWriter(dialect: Dialect): (method: string) => Change {
  const changes = new Map<string, Change>(
    Object.entries(resultChanges(dialect)).map(([method, change]) => [method, inOrder(change, dialect.result)]),
  );
  return (method) => changes.get(method) ?? same;
}

function resultChanges(dialect: Dialect): { readonly [M in Method]: Change } {
  const block = blockChange(dialect);
  return {
    "server/discover": inMember("capabilities", dialect.serverCapabilities),
    "tools/list": inEach("tools", dialect.tool),
    "tools/call": toolResultChange(dialect),
    "resources/list": inEach("resources", dialect.resource),
    "resources/templates/list": inEach("resourceTemplates", dialect.resource),
    "resources/read": inEach("contents", dialect.contents),
    "prompts/list": inEach("prompts", dialect.prompt),
    "prompts/get": inEach("messages", inMember("content", block)),
    "completion/complete": same,
    "subscriptions/listen": same,
    "tasks/get": dialect.task,
    "tasks/update": keeping("_meta"),
    "tasks/cancel": dialect.cancelled,
    "tasks/list": inEach("tasks", inOrder(dialect.task, dropMeta)),
    "tasks/result": toolResultChange(dialect),
  };
}

/** How a dialect says what a tool returned. */
export function toolResultChange(dialect: Dialect): Change {
  return inOrder(dialect.toolResult, inEach("content", blockChange(dialect)));
}

/** How a dialect says a block of content, with the resource in it. */
export function blockChange(dialect: Dialect): Change {
  return inOrder(
    dialect.block,
    ofType("resource_link", dialect.resource),
    ofType("resource", inMember("resource", dialect.contents)),
  );
}
