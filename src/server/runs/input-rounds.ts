import { asJson, type JsonObject } from "../../json/json.ts";
import { toLimitFailure } from "../../protocol/budget.ts";
import { createSealer, type Sealer } from "../../protocol/seal.ts";
import { type Call, type Outcome, signalOf } from "../../protocol/service.ts";
import type { Awaitable } from "../../std/awaitable.ts";
import { createDurableRuns, type DurableRun, type DurableRuns, type DurableRunsOptions } from "./durable-run.ts";
import { Execution, type Job } from "./execution.ts";
import { type Arrival, digestOfQuestion, type GivenAnswer, inputStateOf, type ReplayState } from "./input-state.ts";
import { answersEntry, compareAnswers, leaseLost, type RoundEnd, stepEntry, undoEntry } from "./journal.ts";
import { createParking, type Parked, type ParkingKey } from "./parking.ts";
import { answersTo, bindingOf, newId, openTicket, refusedTicket, type Ticket } from "./ticket.ts";

/** Suspends runs that wait for answers, and continues them: in this process, or in another that shares the store. */
export interface InputRounds {
  suspend(execution: Execution): Promise<Outcome>;
  /** Continues the run that a call has answers for. Rejects with the problem of its state. */
  resume(call: Call, job: Job): Promise<Outcome>;
  /** Runs a call with an idempotency key, or continues it, or returns its earlier outcome. */
  start(call: Call, job: Job, key: string): Promise<Outcome>;
}

export interface InputRoundsOptions extends Omit<DurableRunsOptions, "isAlone"> {
  readonly askTimeoutMs: number;
  /** The servers that may continue a state. */
  readonly audience: string;
  /** Secrets that seal the state of questions. The first seals, all open. */
  readonly stateKeys: readonly string[] | undefined;
  /** True where a handler cannot outlive its request, and so is run again instead of suspended. */
  readonly requestBound?: boolean | undefined;
}

/** A call that continues a run, and the context that it continues from. */
interface Round {
  readonly run: DurableRun;
  readonly call: Call;
  readonly job: Job;
  /** What is known besides the journal. */
  readonly known: ReplayState;
  /** Answers that are new. */
  readonly fresh: ReadonlyMap<string, GivenAnswer>;
}

const nothing: ReplayState = { answers: {}, results: {} };

export function createInputRounds(options: InputRoundsOptions): InputRounds {
  const { deadlines, askTimeoutMs, audience, now, isShared, requestBound } = options;
  const sealer = createSealer(options.stateKeys);
  const runs = createDurableRuns({ ...options, isAlone: !isShared && requestBound !== true });
  const { park, unpark } = createParking({ ...options, leave: (parked) => leave(parked, runs) });
  const places = new WeakMap<Execution, ParkingKey>();

  const suspend = async (execution: Execution): Promise<Outcome> => {
    const place = places.get(execution) ?? newParkingKey(execution, runs);
    const { ticket, outcome } = await issue(execution, {
      sealer,
      audience,
      place,
      expires: now() + askTimeoutMs,
    });
    park(ticket.run, { execution, place, known: ticket });
    return outcome;
  };

  /** Does what only the holder of a run may do. */
  const holding = async (id: string, call: Call, work: (run: DurableRun) => Promise<Outcome>): Promise<Outcome> => {
    const run = await runs.waitFor(call, id);
    if (run === undefined) return signalOf(call).aborted ? cancelled("the call was cancelled") : busy;
    try {
      return await work(run);
    } finally {
      await run.release();
    }
  };

  const resume = async (call: Call, job: Job): Promise<Outcome> => {
    const ticket = await openTicket(call, { sealer, audience, now: now() });
    const fresh = answersTo(ticket, call);
    const short = runs.shortage(call, ticket.id);
    if (short !== undefined) return { kind: "failed", failure: toLimitFailure(short) };
    return holding(ticket.id, call, async (run) => {
      const comparison = compareAnswers(run.history, fresh);
      if (comparison === "other" || ticket.position < run.history.since) throw refusedTicket("it was used already");
      if (comparison === "known" && run.history.rest !== undefined) return tell(run.history.rest, call);
      const round: Round = { run, call, job, known: ticket, fresh };
      const parked = unpark(ticket.run);
      // One that is behind its journal would do again what another process has done.
      return parked?.place.position === run.position ? resumeParked(parked, ticket, round) : runAgain(round);
    });
  };

  /** A malformed answer leaves the run where it was, and the ticket good. */
  const resumeParked = async (parked: Parked, ticket: Ticket, { run, call, job, fresh }: Round): Promise<Outcome> => {
    const { execution } = parked;
    let arrivals: readonly Arrival[];
    try {
      arrivals = await inputStateOf(execution).read(fresh);
      await run.append(...completedSteps(execution, ticket), ...answerEntries(arrivals));
    } catch (error) {
      park(ticket.run, parked);
      throw error;
    }
    follow(run, execution);
    inputStateOf(execution).keepIn(run.journal);
    return settle(run, await execution.resume(call, arrivals), { execution, job, expires: now() + askTimeoutMs });
  };

  const runAgain = async ({ run, call, job, known, fresh }: Round): Promise<Outcome> => {
    if (fresh.size > 0) await run.append(answersEntry(Object.fromEntries(fresh)));
    const past = { ...withAnswers(merged(known, run.history), fresh), journal: run.journal };
    const execution = new Execution(call, job, { deadlines, suspend }, past);
    follow(run, execution);
    return settle(run, await execution.run(), { execution, job, expires: now() + askTimeoutMs });
  };

  /** A handler that waits for an answer is left where it stands: what it would undo is still in use elsewhere. */
  const follow = (run: DurableRun, execution: Execution): void => {
    places.set(execution, run);
    run.execution = execution;
    run.onLost = () => {
      if (execution.inputState?.isWaiting !== true) execution.abandon(leaseLost().message);
    };
  };

  const start = async (call: Call, job: Job, key: string): Promise<Outcome> => {
    const id = await bindingOf(call, { audience, key });
    return holding(id, call, (run) => {
      const { rest } = run.history;
      if (rest !== undefined && isUsable(rest, call, now() + askTimeoutMs / 2))
        return Promise.resolve(tell(rest, call));
      return runAgain({ run, call, job, known: nothing, fresh: new Map() });
    });
  };

  return { suspend, resume, start };
}

interface Issued {
  readonly ticket: Ticket;
  readonly outcome: Outcome & { readonly kind: "input-required" };
}

interface Terms {
  readonly sealer: Sealer;
  readonly audience: string;
  readonly place: ParkingKey;
  /** Of the ticket. */
  readonly expires: number;
}

/** Makes the ticket of a run that waits, and the outcome that brings it to the client. */
async function issue(execution: Execution, { sealer, audience, place, expires }: Terms): Promise<Issued> {
  const { id, position } = place;
  place.asked = position;
  const questions = inputStateOf(execution).questions();
  const known = inputStateOf(execution).replayState();
  const asked = Object.entries(questions).map(async ([key, question]) => [key, await digestOfQuestion(question)]);
  const ticket: Ticket = {
    ...known,
    asked: Object.fromEntries(await Promise.all(asked)),
    id,
    position,
    run: newId(),
    audience,
    bound: await bindingOf(execution.call),
    expires,
  };
  const state = await sealer.seal(asJson(ticket));
  return { ticket, outcome: { kind: "input-required", questions, state } };
}

/** What is known once answers have come. */
function withAnswers({ answers, results }: ReplayState, fresh: ReadonlyMap<string, GivenAnswer>): ReplayState {
  return { answers: { ...answers, ...Object.fromEntries(fresh) }, results };
}

/** A new run. Its steps are written with the answers; no step may begin once another process has read those. */
function newParkingKey(execution: Execution, runs: DurableRuns): ParkingKey {
  const place = { id: newId(), position: 0, asked: 0 };
  const ready = async (): Promise<void> => {
    if (await runs.hasMoved(place)) throw leaseLost();
  };
  inputStateOf(execution).keepIn({ ready, step: async () => {} });
  return place;
}

const busy: Outcome = {
  kind: "failed",
  failure: { code: "limit-reached", message: "this call is still being worked on: try again later" },
};

function cancelled(message: string): Outcome {
  return { kind: "failed", failure: { code: "cancelled", message } };
}

/**
 * True when a run that is dropped from memory must not be aborted, because another process continues it. What its handler did
 * while it waited is in no sealed state, so it is written to the journal. Later rounds have a journal already.
 */
function leave(parked: Parked, runs: DurableRuns): Awaitable<boolean> {
  const { execution, place, known } = parked;
  if ("journal" in place) return runs.hasMoved(place);
  if (execution.inputState?.isBusy === true) return execution.inputState.idle().then(() => leave(parked, runs));
  const done = completedSteps(execution, known);
  return done.length === 0 ? runs.hasMoved(place) : runs.note(place, done).then((isNoted) => !isNoted);
}

interface Ending {
  readonly execution: Execution;
  readonly job: Job;
  /** When a state in the outcome is good no more. */
  readonly expires: number;
}

/**
 * Records the outcome of a round before the client gets it. A failure is not recorded: the next attempt continues the
 * run.
 */
async function settle(run: DurableRun, outcome: Outcome, { execution, job, expires }: Ending): Promise<Outcome> {
  try {
    if (execution.refused) await run.append(undoEntry);
    else if (outcome.kind !== "failed") await run.end({ outcome: withoutCause(outcome), expires, since: run.asked });
  } catch (error) {
    // The work is done: the caller gets its outcome, and the operator an error because it was not recorded.
    if (!run.isLost) job.fail(error);
  }
  return run.isLost ? cancelled(leaseLost().message) : outcome;
}

/** The error that was thrown stays in the process that threw it. */
function withoutCause(outcome: Outcome): Outcome {
  if (!("cause" in outcome)) return outcome;
  const { cause: _, ...rest } = outcome;
  return rest;
}

/** The outcome of a round for a repeated call. A task cannot be returned to a caller without support for tasks. */
function tell({ outcome }: RoundEnd, call: Call): Outcome {
  return outcome.kind === "task" && call.tasks === undefined ? busy : outcome;
}

/** Questions are usable for a caller that supports them, has not answered yet, and has time left. */
function isUsable({ outcome, expires }: RoundEnd, { ask, answers = {} }: Call, until: number): boolean {
  if (outcome.kind !== "input-required") return true;
  return ask === undefined && Object.keys(answers).length === 0 && expires > until;
}

/** The journal is as new as any ticket, so what it says counts. */
function merged(known: ReplayState, history: ReplayState): ReplayState {
  return {
    answers: { ...known.answers, ...history.answers },
    results: { ...known.results, ...history.results },
  };
}

/** Steps that ended while the run waited: neither the ticket nor a journal has them. */
function completedSteps(execution: Execution, { results }: ReplayState): readonly JsonObject[] {
  const all = Object.entries(inputStateOf(execution).replayState().results);
  return all.filter(([key]) => !Object.hasOwn(results, key)).map(([key, result]) => stepEntry(key, result));
}

function answerEntries(arrivals: readonly Arrival[]): readonly JsonObject[] {
  if (arrivals.length === 0) return [];
  return [answersEntry(Object.fromEntries(arrivals.map(({ key, given }) => [key, given])))];
}
