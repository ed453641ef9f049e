import { McpError } from "../model/errors.ts";
import type { Question } from "../model/input.ts";
import { type Ask, type Call, type Outcome, type Service, withCall } from "../model/service.ts";

const MAX_ROUNDS = 10;

/**
 * Serves a client that can be asked while it waits.
 *
 * A service that asks by its outcome, such as a remote modern server, is called
 * again with the answers until it needs none.
 */
export async function askThenServe(service: Service, call: Call, ask: Ask): Promise<Outcome> {
  let outcome = await service(call);
  for (let round = 1; outcome.kind === "input-required"; round++) {
    if (round > MAX_ROUNDS) {
      return { kind: "failed", failure: { code: "internal", message: `still asking after ${MAX_ROUNDS} rounds` } };
    }
    try {
      const answers = await answerAll(outcome.questions, ask);
      outcome = await service(withCall(call, { answers, state: outcome.state }));
    } catch (error) {
      if (error instanceof McpError) return { kind: "failed", failure: error };
      throw error;
    }
  }
  return outcome;
}

async function answerAll(questions: Readonly<Record<string, Question>>, ask: Ask): Promise<Record<string, unknown>> {
  const entries = Object.entries(questions).map(async ([key, question]) => [key, await ask(question)] as const);
  return Object.fromEntries(await Promise.all(entries));
}
