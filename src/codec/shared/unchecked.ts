import type { Json, JsonObject } from "../../json/json.ts";
import type { ErrorObject } from "../../jsonrpc/message.ts";
import type { Failure } from "../../model/errors.ts";
import type { Question, QuestionMethod } from "../../model/input.ts";
import type { Method, Params, Result } from "../../model/methods.ts";
import type { DetailedTask, Task } from "../../model/task.ts";

// Here, and only here, JSON off the wire is declared to have a type of the
// model. The compiler cannot follow a table that is indexed by a method name,
// so each function names the check that must have run before.

/** A method name. Any string is one: a service answers what it does not know with `method-not-found`. */
export function asMethod(method: string): Method {
  return method as Method;
}

/** Params that `paramsProblem` found nothing wrong with. */
export function asParams<M extends Method>(params: JsonObject): Params<M> {
  return params as unknown as Params<M>;
}

/** A result that `resultProblem` found nothing wrong with. */
export function asResult<M extends Method>(result: JsonObject): Result<M> {
  return result as unknown as Result<M>;
}

/** A question whose params `decodeQuestion` found nothing wrong with. */
export function asQuestion(method: QuestionMethod, params: JsonObject): Question {
  return { method, params } as unknown as Question;
}

/** A task that `aTask` found nothing wrong with. */
export function asTask(task: JsonObject): Task {
  return task as unknown as Task;
}

/** A task that `readDetails` has put together. */
export function asDetails(task: JsonObject): DetailedTask {
  return task as unknown as DetailedTask;
}

/** The failure of a task of ours. */
export function asFailure(failure: JsonObject): Failure {
  return failure as unknown as Failure;
}

/** An error that is an object with a code and a message. */
export function asErrorObject(error: Json | undefined): ErrorObject {
  return error as unknown as ErrorObject;
}
