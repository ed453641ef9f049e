import { asJson, type JsonObject } from "../../json/json.ts";
import { type Call, type Outcome, signalOf } from "../../protocol/service.ts";
import { createDurableRuns, type DurableRun, type DurableRuns, type DurableRunsOptions } from "./durable-run.ts";
import { Execution, type Job } from "./execution.ts";
import { type Arrival, dialogueOf, digestOfQuestion, type ReplayState, type Told } from "./input-state.ts";
import { answersEntry, compareAnswers, type Rest, stepEntry, takenOver, undoEntry } from "./journal.ts";
import { createParking, type Parked, type ParkingPlace } from "./parking.ts";
import {
  answersTo,
  bindingOf,
  createSealer,
  newId,
  openTicket,
  refusedTicket,
  type Sealer,
  type Ticket,
} from "./ticket.ts";

/** Suspends runs that wait for answers, and goes on with them: in this process, or in another that shares the store. */
export interface InputRounds {
  suspend(execution: Execution): Promise<Outcome>;
  /** Goes on with the run that a call brings answers for. Rejects with what is wrong with its state. */
  resume(call: Call, job: Job): Promise<Outcome>;
  /** Runs what a caller named, or goes on with it, or gives the outcome it had. */
  start(call: Call, job: Job, key: string): Promise<Outcome>;
}

export interface InputRoundsOptions extends Omit<DurableRunsOptions, "isAlone"> {
  readonly askTimeoutMs: number;
  /** Secrets that seal the state of questions. The first seals, all open. */
  readonly stateKeys: readonly string[] | undefined;
  /** Suspended runs kept in this process; the oldest give way and are run again when their client comes back. */
  readonly maxParkedCalls: number;
  /** True where a handler cannot outlive its request, and so is run again instead of suspended. */
  readonly requestBound?: boolean | undefined;
}

/** A call that goes on with a run, and what it goes on from. */
interface Round {
  readonly run: DurableRun;
  readonly call: Call;
  readonly job: Job;
  /** What is known besides the journal. */
  readonly known: ReplayState;
  /** Answers that are new. */
  readonly fresh: ReadonlyMap<string, Told>;
}

const nothing: ReplayState = { answers: {}, results: {} };

export function createInputRounds(options: InputRoundsOptions): InputRounds {
  const { deadlines, askTimeoutMs, now, isShared, requestBound } = options;
  const sealer = createSealer(options.stateKeys);
  const runs = createDurableRuns({ ...options, isAlone: !isShared && requestBound !== true });
  const { park, unpark } = createParking({ ...options, hasMoved: runs.hasMoved });
  const places = new WeakMap<Execution, ParkingPlace>();

  const suspend = async (execution: Execution): Promise<Outcome> => {
    const place = places.get(execution) ?? newPlace(execution, runs);
    const { ticket, outcome } = await issue(execution, { sealer, id: place.id, expires: now() + askTimeoutMs });
    park(ticket.run, { execution, place });
    return outcome;
  };

  /** Does what only the holder of a run may do. */
  const holding = async (id: string, call: Call, work: (run: DurableRun) => Promise<Outcome>): Promise<Outcome> => {
    const run = await runs.takeFor(call, id);
    if (run === undefined) return signalOf(call).aborted ? cancelled("the call was cancelled") : busy;
    try {
      return await work(run);
    } finally {
      await run.release();
    }
  };

  const resume = async (call: Call, job: Job): Promise<Outcome> => {
    const ticket = await openTicket(sealer, call, now());
    const fresh = answersTo(ticket, call);
    return holding(ticket.id, call, async (run) => {
      const comparison = compareAnswers(run.history, fresh);
      if (comparison === "other") throw refusedTicket("it was used already");
      if (comparison === "known" && run.history.rest !== undefined) return tell(run.history.rest, call);
      const round: Round = { run, call, job, known: ticket, fresh };
      const parked = unpark(ticket.run);
      // One that is behind its journal would do again what another process has done.
      return parked?.place.position === run.position ? goOn(parked, ticket, round) : runAgain(round);
    });
  };

  /** A malformed answer leaves the run where it was, and the ticket good. */
  const goOn = async (parked: Parked, ticket: Ticket, { run, call, job, fresh }: Round): Promise<Outcome> => {
    const { execution } = parked;
    let arrivals: readonly Arrival[];
    try {
      arrivals = await dialogueOf(execution).read(fresh);
      await run.append(...doneMeanwhile(execution, ticket), ...answerEntries(arrivals));
    } catch (error) {
      park(ticket.run, parked);
      throw error;
    }
    follow(run, execution);
    dialogueOf(execution).keepIn(run.journal);
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
      if (execution.dialogue?.isWaiting !== true) execution.abandon(takenOver().message);
    };
  };

  const start = async (call: Call, job: Job, key: string): Promise<Outcome> => {
    const id = await bindingOf(call, key);
    return holding(id, call, (run) => {
      const { rest } = run.history;
      if (rest !== undefined && isGood(rest, call, now() + askTimeoutMs / 2)) return Promise.resolve(tell(rest, call));
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
  /** Of the ticket. */
  readonly id: string;
  readonly expires: number;
}

/** Makes the ticket of a run that waits, and the outcome that brings it to the client. */
async function issue(execution: Execution, { sealer, id, expires }: Terms): Promise<Issued> {
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
function withAnswers({ answers, results }: ReplayState, fresh: ReadonlyMap<string, Told>): ReplayState {
  return { answers: { ...answers, ...Object.fromEntries(fresh) }, results };
}

const busy: Outcome = {
  kind: "failed",
  failure: { code: "limit-reached", message: "this call is still being worked on: try again later" },
};

function cancelled(message: string): Outcome {
  return { kind: "failed", failure: { code: "cancelled", message } };
}

/** A run that nobody else knows of yet. Its steps are written down with the answers; none may begin once others have those. */
function newPlace(execution: Execution, runs: DurableRuns): ParkingPlace {
  const place = { id: newId(), position: 0 };
  const ready = async (): Promise<void> => {
    if (await runs.hasMoved(place)) throw takenOver();
  };
  dialogueOf(execution).keepIn({ ready, step: async () => {} });
  return place;
}

interface Ending {
  readonly execution: Execution;
  readonly job: Job;
  /** When a state in the outcome is good no more. */
  readonly expires: number;
}

/** Writes down how a round ended before anybody is told. A failure is no end: whoever tries again goes on. */
async function settle(run: DurableRun, outcome: Outcome, { execution, job, expires }: Ending): Promise<Outcome> {
  try {
    if (execution.refused) await run.append(undoEntry);
    else if (outcome.kind !== "failed") await run.end({ outcome, expires });
  } catch (error) {
    // What was done is done: the caller is told, and who looks after the server hears that it was not kept.
    if (!run.isLost) job.fail(error);
  }
  return run.isLost ? cancelled(takenOver().message) : outcome;
}

/** How a round ended, to who asks again. A task is nothing for who cannot follow it. */
function tell({ outcome }: Rest, call: Call): Outcome {
  return outcome.kind === "task" && call.tasks === undefined ? busy : outcome;
}

/** Questions are good for who can be asked so, has not answered yet, and has time until then. */
function isGood({ outcome, expires }: Rest, { ask, answers = {} }: Call, until: number): boolean {
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
function doneMeanwhile(execution: Execution, { results }: ReplayState): readonly JsonObject[] {
  const all = Object.entries(dialogueOf(execution).recollection().results);
  return all.filter(([key]) => !Object.hasOwn(results, key)).map(([key, result]) => stepEntry(key, result));
}

function answerEntries(arrivals: readonly Arrival[]): readonly JsonObject[] {
  if (arrivals.length === 0) return [];
  return [answersEntry(Object.fromEntries(arrivals.map(({ key, told }) => [key, told])))];
}
