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
import { insideKeys } from "./envelope.ts";
import { plainTask } from "./outcomes.ts";

/**
 * 2026-07-28, the revision the model is shaped like. What the model has beyond
 * it is there for older peers.
 *
 * It gave up the session, and with it every notification about one. It gave up
 * tasks as a part of the core, and ids for pages to open. Tasks are an extension
 * that says the same in other words.
 */
export const r2026_07_28: Dialect = derive("2026-07-28", asModeled, {
  clientCapabilities: inOrder(without("tasks"), inMember("roots", without("listChanged"))),
  serverCapabilities: without("tasks"),
  tool: without("execution"),
  task: plainTask,
  cancelled: keeping("_meta"),
  result: withoutMeta(metaKeys.relatedTask),
  notification: withoutMeta(metaKeys.relatedTask, ...insideKeys),
  elicitation: always(without("elicitationId")),
  notifications: {
    "notifications/initialized": false,
    "notifications/roots/list_changed": false,
    "notifications/elicitation/complete": false,
    "notifications/tasks/status": false,
  },
});
