import { metaKeys } from "../meta.ts";
import {
  always,
  asModeled,
  type Dialect,
  derive,
  inMember,
  inOrder,
  keeping,
  without,
  withoutMeta,
} from "./dialect.ts";
import { internalKeys } from "./envelope.ts";
import { plainTask } from "./outcomes.ts";

/**
 * 2026-07-28, the revision that the model follows. Further members of the model exist for older peers.
 *
 * This revision removed the session with its notifications, tasks in the core, and ids of pages to open. Tasks are an
 * extension with another format.
 */
export const r2026_07_28: Dialect = derive("2026-07-28", asModeled, {
  clientCapabilities: inOrder(without("tasks"), inMember("roots", without("listChanged"))),
  serverCapabilities: without("tasks"),
  tool: without("execution"),
  task: plainTask,
  cancelled: keeping("_meta"),
  result: withoutMeta(metaKeys.relatedTask),
  notification: withoutMeta(metaKeys.relatedTask, ...internalKeys),
  elicitation: always(without("elicitationId")),
  notifications: {
    "notifications/initialized": false,
    "notifications/roots/list_changed": false,
    "notifications/elicitation/complete": false,
    "notifications/tasks/status": false,
  },
});
