import { type Change, inMember, without } from "../../codec/shared/dialect.ts";
import { isObject, type JsonObject } from "../../json/json.ts";
import { tasksExtension } from "../../model/task.ts";

/** Capabilities without the extension, which means nothing before 2026-07-28. */
export const dropTasksExtension: Change = (capabilities) => {
  if (!hasExtension(capabilities)) return capabilities;
  const plain = inMember("extensions", without(tasksExtension))(capabilities);
  return isObject(plain.extensions) && Object.keys(plain.extensions).length === 0
    ? without("extensions")(plain)
    : plain;
};

/**
 * The capabilities of a server as 2025-11-25 has them: with tasks in the core.
 *
 * That tasks can be listed is for the server to say, by a `tasks.list` of its
 * own: it must not where it cannot tell whose they are.
 */
export const writeTasksCapability: Change = (capabilities) => {
  if (!hasExtension(capabilities)) return without("tasks")(capabilities);
  const stated = isObject(capabilities.tasks) ? capabilities.tasks : {};
  return { ...dropTasksExtension(capabilities), tasks: { ...tasks, ...stated } };
};

const tasks: JsonObject = { cancel: {}, requests: { tools: { call: {} } } };

/** What a server of 2025-11-25 states, with the extension where its tools can be run as tasks. */
export const readTasksCapability: Change = (capabilities) => {
  const plain = dropTasksExtension(capabilities);
  if (!runsTools(plain)) return plain;
  const others = isObject(plain.extensions) ? plain.extensions : {};
  return { ...plain, extensions: { ...others, [tasksExtension]: {} } };
};

function hasExtension({ extensions }: JsonObject): boolean {
  return isObject(extensions) && extensions[tasksExtension] !== undefined;
}

function runsTools({ tasks: stated }: JsonObject): boolean {
  const requests = isObject(stated) && isObject(stated.requests) ? stated.requests : {};
  return isObject(requests.tools) && isObject(requests.tools.call);
}
