import { asJson } from "../json/json.ts";
import type { Call, Outcome } from "../model/service.ts";
import { toBase64Url } from "../std/base64.ts";
import type { Deadline } from "../std/deadlines.ts";
import type { Arrival, Told } from "./dialogue.ts";
import { digestOf } from "./digest.ts";
import { Execution, type Job } from "./execution.ts";
import type { RunnerOptions } from "./runner.ts";
import { createSealer } from "./seal.ts";
import { createSingleUse } from "./single-use.ts";
import { answersTo, bindingOf, openTicket, refusedTicket, type Ticket } from "./ticket.ts";

/** Suspends runs that wait for answers, and goes on with them. */
export interface Rounds {
  suspend(execution: Execution): Promise<Outcome>;
  /** Goes on with the run that a call brings answers for. Rejects with what is wrong with its state. */
  resume(call: Call, job: Job): Promise<Outcome>;
}

/** What a call brings that continues another. */
interface Retry {
  readonly ticket: Ticket;
  readonly fresh: ReadonlyMap<string, Told>;
}

interface Parked {
  readonly execution: Execution;
  readonly deadline: Deadline;
}

const MAX_USED_TICKETS = 100_000;

export function createRounds(options: RunnerOptions): Rounds {
  const { deadlines, stateTtlMs, maxParked, now } = options;
  const sealer = createSealer(options.stateKeys);
  const parked = new Map<string, Parked>();
  const tickets = createSingleUse({ now, max: MAX_USED_TICKETS });

  const park = (run: string, execution: Execution): void => {
    const expire = (): void => unpark(run)?.abandon("no answer came in time");
    parked.set(run, { execution, deadline: deadlines.start({ idleMs: 0, totalMs: stateTtlMs }, expire) });
    const [oldest] = parked.keys();
    if (parked.size > maxParked && oldest !== undefined) unpark(oldest)?.abandon("too many calls wait for answers");
  };

  const unpark = (run: string): Execution | undefined => {
    const entry = parked.get(run);
    parked.delete(run);
    entry?.deadline.stop();
    return entry?.execution;
  };

  const suspend = async (execution: Execution): Promise<Outcome> => {
    const questions = execution.dialogue.questions();
    const known = execution.dialogue.recollection();
    const asked = Object.entries(questions).map(async ([key, question]) => [key, await digestOf(asJson(question))]);
    const ticket: Ticket = {
      ...known,
      asked: Object.fromEntries(await Promise.all(asked)),
      run: toBase64Url(crypto.getRandomValues(new Uint8Array(12))),
      bound: await bindingOf(execution.call),
      expires: now() + stateTtlMs,
    };
    const state = await sealer.seal(asJson(ticket));
    park(ticket.run, execution);
    return { kind: "input-required", questions, state };
  };

  const resume = async (call: Call, job: Job): Promise<Outcome> => {
    const ticket = await openTicket(sealer, call, now());
    const fresh = answersTo(ticket, call);
    if (fresh.size > 0 && !tickets.take(ticket.run, ticket.expires)) throw refusedTicket("it was used already");
    const execution = unpark(ticket.run);
    if (execution !== undefined) return goOn(execution, call, { ticket, fresh });
    const answers = { ...ticket.answers, ...Object.fromEntries(fresh) };
    return runAgain(call, job, { ...ticket, answers });
  };

  /** A malformed answer leaves the run where it was, and the ticket good. */
  const goOn = async (execution: Execution, call: Call, { ticket, fresh }: Retry): Promise<Outcome> => {
    let arrivals: readonly Arrival[];
    try {
      arrivals = await execution.dialogue.read(fresh);
    } catch (error) {
      tickets.giveBack(ticket.run);
      park(ticket.run, execution);
      throw error;
    }
    return execution.resume(call, arrivals);
  };

  const runAgain = async (call: Call, job: Job, ticket: Ticket): Promise<Outcome> => {
    const execution = new Execution(call, job, { deadlines, suspend }, ticket);
    const outcome = await execution.run();
    if (execution.refused) tickets.giveBack(ticket.run);
    return outcome;
  };

  return { suspend, resume };
}
