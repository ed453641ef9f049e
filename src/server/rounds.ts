import { canonicalText } from "../json/canonical.ts";
import { asJson, isObject, type JsonObject } from "../json/json.ts";
import { McpError } from "../model/errors.ts";
import type { Call, Outcome } from "../model/service.ts";
import { toBase64Url } from "../std/base64.ts";
import type { Deadlines } from "../std/deadlines.ts";
import { Execution, type Job, questionsOf } from "./execution.ts";
import type { Sealer } from "./seal.ts";

export interface RoundsOptions {
  readonly sealer: Sealer;
  readonly deadlines: Deadlines;
  /** How long a client may take to come back with answers. */
  readonly stateTtlMs: number;
  /** Suspended runs kept in this process; the oldest give way and are run again when their client comes back. */
  readonly maxParked: number;
  /** The time of day, which other processes share. */
  now(): number;
}

/** Runs handlers, over several calls where questions need it. */
export interface Runner {
  run(call: Call, job: Job): Outcome | Promise<Outcome>;
}

/** The content of `requestState`, sealed. */
interface Ticket {
  readonly run: string;
  /** Who may use it, and for which call. */
  readonly bound: string;
  readonly expires: number;
  readonly answers: JsonObject;
  readonly results: JsonObject;
  readonly asked: readonly string[];
}

/** A call that brings answers. */
interface Retry {
  readonly call: Call;
  readonly fresh: ReadonlyMap<string, unknown>;
}

interface Parked {
  readonly execution: Execution;
  stop(): void;
}

export function createRunner({ sealer, deadlines, stateTtlMs, maxParked, now }: RoundsOptions): Runner {
  const parked = new Map<string, Parked>();

  const park = (run: string, execution: Execution): void => {
    const oldest = parked.size >= maxParked ? parked.entries().next().value : undefined;
    if (oldest !== undefined) {
      unpark(oldest[0]);
      oldest[1].execution.abandon("too many calls wait for answers");
    }
    const deadline = deadlines.start({ idleMs: 0, totalMs: stateTtlMs }, () => {
      parked.delete(run);
      execution.abandon("no answer came in time");
    });
    parked.set(run, { execution, stop: deadline.stop.bind(deadline) });
  };

  const unpark = (run: string): Execution | undefined => {
    const entry = parked.get(run);
    parked.delete(run);
    entry?.stop();
    return entry?.execution;
  };

  const suspend = async (execution: Execution): Promise<Outcome> => {
    const { memory, call } = execution;
    const questions = questionsOf(execution);
    const run = toBase64Url(crypto.getRandomValues(new Uint8Array(12)));
    park(run, execution);
    const ticket: Ticket = {
      run,
      bound: await bindingOf(call),
      expires: now() + stateTtlMs,
      answers: Object.fromEntries(memory.answers) as JsonObject,
      results: Object.fromEntries(memory.results) as JsonObject,
      asked: Object.keys(questions),
    };
    return { kind: "input-required", questions, state: await sealer.seal(asJson(ticket)) };
  };

  const rounds = { deadlines, suspend };

  /** A malformed answer leaves the run where it was. */
  const goOn = async (run: string, execution: Execution, { call, fresh }: Retry): Promise<Outcome> => {
    try {
      return await execution.resume(call, fresh);
    } catch (error) {
      park(run, execution);
      throw error;
    }
  };

  const resume = async (call: Call, job: Job, state: string): Promise<Outcome> => {
    const ticket = await openTicket(sealer, state, call);
    if (ticket.expires <= now()) throw refused("it has expired");
    const fresh = answersTo(ticket, call);
    const execution = unpark(ticket.run);
    if (execution !== undefined) return goOn(ticket.run, execution, { call, fresh });
    const again = new Execution(call, job, rounds);
    for (const [key, answer] of Object.entries(ticket.answers)) again.memory.answers.set(key, answer);
    for (const [key, answer] of fresh) again.memory.answers.set(key, answer);
    for (const [key, result] of Object.entries(ticket.results)) again.memory.results.set(key, result);
    return again.run();
  };

  return {
    run(call, job) {
      if (call.state === undefined || call.ask !== undefined) return new Execution(call, job, rounds).run();
      return resume(call, job, call.state).catch((error: unknown) => job.fail(error));
    },
  };
}

/** Only what was asked counts as an answer. */
function answersTo(ticket: Ticket, call: Call): ReadonlyMap<string, unknown> {
  const given = call.answers ?? {};
  const keys = ticket.asked.filter((key) => Object.hasOwn(given, key));
  return new Map(keys.map((key) => [key, given[key]]));
}

async function openTicket(sealer: Sealer, state: string, call: Call): Promise<Ticket> {
  const opened = await sealer.open(state);
  if (opened === undefined) throw refused("it was not issued here, or was changed");
  if (opened.bound !== (await bindingOf(call))) throw refused("it belongs to another call or caller");
  const { answers, results } = opened;
  const ticket = opened as unknown as Ticket;
  return { ...ticket, answers: isObject(answers) ? answers : {}, results: isObject(results) ? results : {} };
}

function refused(reason: string): McpError {
  return new McpError("invalid-params", `the request state is refused: ${reason}`);
}

/** Ties state to who asked for what, so that it is good for nothing else. */
async function bindingOf({ method, params, peer }: Call): Promise<string> {
  const { name, arguments: input, uri } = asJson(params);
  const subject = canonicalText({ method, name, input, uri, principal: peer.auth?.principal });
  return toBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(subject))));
}
