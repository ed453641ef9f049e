import { McpError, toFailure } from "../model/errors.ts";
import type { Question } from "../model/input.ts";
import { type Ask, type Call, type Outcome, onAbort, type Service, withCall } from "../model/service.ts";
import type { Clock } from "../std/clock.ts";

const MAX_ROUNDS = 10;

interface Means {
  readonly ask: Ask;
  readonly clock: Clock;
}

/**
 * Goes on with a call that ended by asking, such as one of a remote modern
 * server, for a client that can be asked while it waits: calls again with the
 * answers until there is nothing to ask. A service that asks nothing is only
 * busy, and gets a moment.
 */
export async function goOn(service: Service, call: Call, first: Outcome, { ask, clock }: Means): Promise<Outcome> {
  let outcome = first;
  for (let round = 1; outcome.kind === "input-required"; round++) {
    if (round > MAX_ROUNDS) {
      return { kind: "failed", failure: { code: "internal", message: `still asking after ${MAX_ROUNDS} rounds` } };
    }
    try {
      const questions = Object.entries(outcome.questions);
      if (questions.length === 0) await pause(50 * 2 ** (round - 1), call, clock);
      const answers = questions.length === 0 ? undefined : await answerAll(questions, ask);
      outcome = await service(withCall(call, { answers, state: outcome.state }));
    } catch (error) {
      if (error instanceof McpError) return { kind: "failed", failure: toFailure(error) };
      throw error;
    }
  }
  return outcome;
}

async function answerAll(
  questions: readonly (readonly [key: string, question: Question])[],
  ask: Ask,
): Promise<Readonly<Record<string, unknown>>> {
  const answers = questions.map(async ([key, question]) => [key, await ask(question)] as const);
  return Object.fromEntries(await Promise.all(answers));
}

/** Ends early with the call. */
function pause(ms: number, call: Call, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const stop = clock.after(ms, resolve);
    onAbort(call, () => {
      stop();
      resolve();
    });
  });
}
