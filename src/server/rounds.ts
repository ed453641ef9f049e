import { asJson } from "../json/json.ts";
import type { Call, Outcome } from "../model/service.ts";
import type { Deadlines } from "../std/deadlines.ts";
import type { Store } from "../store/store.ts";
import { Execution, type Job } from "./runs/execution.ts";
import { type Arrival, dialogueOf, digestOfQuestion, type Recollection, type Told } from "./runs/input-state.ts";
import { createParking } from "./runs/parking.ts";
import {
  answersTo,
  bindingOf,
  createSealer,
  newId,
  openTicket,
  refusedTicket,
  type Sealer,
  type Ticket,
} from "./runs/ticket.ts";
import { createSingleUse } from "./single-use.ts";

export interface RunnerOptions {
  /** Secrets that seal the state of questions. The first seals, all open. */
  readonly stateKeys: readonly string[] | undefined;
  readonly deadlines: Deadlines;
  /** How long a client may take to come back with answers. */
  readonly stateTtlMs: number;
  /** Suspended runs kept in this process; the oldest give way and are run again when their client comes back. */
  readonly maxParked: number;
  /** True where a handler cannot outlive its request, and so is run again instead of suspended. */
  readonly requestBound?: boolean | undefined;
  /** The time of day, which other processes share. */
  now(): number;
  /** What all processes share. Called when a call is continued or named, and {@link RunnerOptions.shared} is set. */
  store?(): Promise<Store>;
  /** True when there may be other processes that go on with a call. */
  readonly shared?: boolean;
  /** How long a process that does not renew it holds a run. Default 15 s. */
  readonly leaseMs?: number | undefined;
}

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

const MAX_USED_TICKETS = 100_000;

/** Rounds of one process, which knows nothing of others but what a state tells. */
export function createRounds(options: RunnerOptions): Rounds {
  const { deadlines, stateTtlMs, now } = options;
  const sealer = createSealer(options.stateKeys);
  const { park, unpark } = createParking(options);
  const tickets = createSingleUse({ now, max: MAX_USED_TICKETS });

  const suspend = async (execution: Execution): Promise<Outcome> => {
    const { ticket, outcome } = await issue(execution, { sealer, id: newId(), expires: now() + stateTtlMs });
    park(ticket.run, { execution, place: undefined });
    return outcome;
  };

  const resume = async (call: Call, job: Job): Promise<Outcome> => {
    const ticket = await openTicket(sealer, call, now());
    const fresh = answersTo(ticket, call);
    if (fresh.size > 0 && !tickets.take(ticket.run, ticket.expires)) throw refusedTicket("it was used already");
    const execution = unpark(ticket.run)?.execution;
    if (execution !== undefined) return goOn(execution, call, { ticket, fresh });
    return runAgain(call, job, ticket.run, withAnswers(ticket, fresh));
  };

  /** A malformed answer leaves the run where it was, and the ticket good. */
  const goOn = async (execution: Execution, call: Call, { ticket, fresh }: Retry): Promise<Outcome> => {
    let arrivals: readonly Arrival[];
    try {
      arrivals = await dialogueOf(execution).read(fresh);
    } catch (error) {
      tickets.giveBack(ticket.run);
      park(ticket.run, { execution, place: undefined });
      throw error;
    }
    return execution.resume(call, arrivals);
  };

  const runAgain = async (call: Call, job: Job, run: string, known: Recollection): Promise<Outcome> => {
    const execution = new Execution(call, job, { deadlines, suspend }, known);
    const outcome = await execution.run();
    if (execution.refused) tickets.giveBack(run);
    return outcome;
  };

  return { suspend, resume };
}

interface Issued {
  readonly ticket: Ticket;
  readonly outcome: Outcome & { readonly kind: "input-required" };
}

interface Terms {
  readonly sealer: Sealer;
  /** Of the ticket. */
  readonly id: string;
  readonly expires: number;
}

/** Makes the ticket of a run that waits, and the outcome that brings it to the client. */
export async function issue(execution: Execution, { sealer, id, expires }: Terms): Promise<Issued> {
  const questions = dialogueOf(execution).questions();
  const known = dialogueOf(execution).recollection();
  const asked = Object.entries(questions).map(async ([key, question]) => [key, await digestOfQuestion(question)]);
  const ticket: Ticket = {
    ...known,
    asked: Object.fromEntries(await Promise.all(asked)),
    id,
    run: newId(),
    bound: await bindingOf(execution.call),
    expires,
  };
  const state = await sealer.seal(asJson(ticket));
  return { ticket, outcome: { kind: "input-required", questions, state } };
}

/** What is known once answers have come. */
export function withAnswers({ answers, results }: Recollection, fresh: ReadonlyMap<string, Told>): Recollection {
  return { answers: { ...answers, ...Object.fromEntries(fresh) }, results };
}
