import { rpcCodes } from "../../jsonrpc/message.ts";
import {
  type Attempt,
  type Change,
  type Dialect,
  derive,
  inMember,
  inOrder,
  without,
  withoutMeta,
} from "../../protocol/codec/dialect.ts";
import { metaKeys } from "../../protocol/meta.ts";
import { canShowForms } from "../../protocol/peer.ts";
import { dropTasksExtension, oneBlock, plainSampling, refuseFor, simpleForm } from "./older-shapes.ts";
import { r2025_11_25 } from "./r2025-11-25.ts";

/** Elicitation meant forms, so a client that only opens pages had none. */
const formsOrNone: Change = (capabilities) =>
  canShowForms(capabilities) ? capabilities : without("elicitation")(capabilities);

/** There were forms and nothing else, so nobody had to say which it is. */
const formOnly: Attempt = (params) =>
  params.mode === "url"
    ? refuseFor("params.url", "2025-11-25", { elicitation: { url: {} } })
    : simpleForm(without("mode")(params));

/**
 * 2025-06-18 had no icons, no pages to open, no tasks, and no tools for the
 * model that is asked to sample. Forms were simpler.
 */
export const r2025_06_18: Dialect = derive("2025-06-18", r2025_11_25, {
  implementation: without("icons", "description", "websiteUrl"),
  clientCapabilities: inOrder(
    formsOrNone,
    inMember("elicitation", without("form", "url")),
    inMember("sampling", without("tools", "context")),
    without("tasks"),
  ),
  serverCapabilities: without("tasks"),
  impliedCapabilities: inOrder(without("tasks"), dropTasksExtension),
  tool: without("icons", "execution"),
  resource: without("icons"),
  prompt: without("icons"),
  result: withoutMeta(metaKeys.relatedTask),
  notification: withoutMeta(metaKeys.relatedTask),
  elicitation: formOnly,
  sampling: plainSampling,
  sampled: oneBlock,
  notifications: {
    "notifications/elicitation/complete": false,
    "notifications/tasks": false,
    "notifications/tasks/status": false,
  },
  errors: { "url-elicitation-required": rpcCodes.internal },
});
