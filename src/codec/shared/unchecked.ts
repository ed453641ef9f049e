import type { JsonObject } from "../../json/json.ts";
import type { Question, QuestionMethod } from "../../model/input.ts";
import type { Method, Params, Result } from "../../model/methods.ts";

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
