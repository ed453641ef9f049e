import type { Failure } from "../../model/errors.ts";
import { isLegacy } from "../../model/revision.ts";
import type { Call, Outcome } from "../../model/service.ts";
import { tasksExtension } from "../../model/task.ts";
import type { TaskMode } from "../define-tool.ts";

/** What a caller is told that wants a task where there is none, or cannot follow one where there always is. */
export function refusedTerms(task: TaskMode, { params, peer }: Call<"tools/call">): Outcome<"tools/call"> {
  const { name } = params;
  if (task === "never") return failed({ code: "method-not-found", message: `tool ${name} cannot be run as a task` });
  if (!isLegacy(peer.revision)) return failed(missingTasks(`tool ${name} runs as a task`));
  return failed({ code: "method-not-found", message: `tool ${name} must be run as a task` });
}

/** The failure of a request for which its caller would have to know tasks. */
export function missingTasks(reason: string): Failure {
  return {
    code: "missing-capability",
    message: `${reason}: the client did not declare ${tasksExtension}`,
    data: { requiredCapabilities: { extensions: { [tasksExtension]: {} } } },
  };
}

function failed(failure: Failure): Outcome<"tools/call"> {
  return { kind: "failed", failure };
}
