import type { JsonLimits } from "../../../json/parse.ts";
import type { Channel } from "../../../jsonrpc/channel.ts";
import type { Clock } from "../../../std/clock.ts";
import { createDeadlines } from "../../../std/deadlines.ts";
import type { Endpoint } from "./endpoint.ts";
import { createInbox } from "./inbox.ts";
import type { HttpWarn } from "./known-tools.ts";
import { createLegacySpeaker, type LegacySpeaker } from "./legacy-speaker.ts";
import { createLingering } from "./lingering.ts";
import { createModernSpeaker } from "./modern-speaker.ts";
import type { HttpParts, Speaker } from "./parts.ts";
import { answerLimits } from "./read-answer.ts";

export interface HttpChannelOptions {
  readonly endpoint: Endpoint;
  readonly clock: Clock;
  readonly warn: HttpWarn;
  /** For what nobody waits for: a notification, the end of a session. */
  readonly timeoutMs: number;
  /** Bytes of one body, or of one event. Default 16 MiB; 0 is off. */
  readonly maxBodyBytes?: number | undefined;
  readonly jsonLimits?: JsonLimits | undefined;
  /** Between 0 and 1. */
  readonly random?: (() => number) | undefined;
}

/** The status that a request was answered with. */
export interface LastAnswer {
  readonly method: string;
  readonly status: number;
}

/** A {@link Channel} to a server behind a URL. */
export interface HttpChannel extends Channel {
  /** What was answered last. */
  readonly last: LastAnswer | undefined;
  /** What to do when the server has lost the session and a new one was opened. */
  onRenewal(restore: () => void): void;
  /** Resolves when what a legacy server says by itself can arrive. */
  readonly listening: Promise<void>;
}

/**
 * Speaks JSON-RPC over HTTP, one message to a POST.
 *
 * What is sent goes out in the background; what comes back is in `incoming`,
 * where a request that gets no answer is `undelivered`. The messages say which
 * era it is: everything after `initialize` belongs to a session. Reading ends
 * with `close` only.
 */
export function httpChannel(options: HttpChannelOptions): HttpChannel {
  const inbox = createInbox();
  let last: LastAnswer | undefined;
  const parts = partsOf(options, inbox, (method, status) => {
    last = { method, status };
  });
  const legacy: LegacySpeaker = createLegacySpeaker(parts);
  let speaker: Speaker = createModernSpeaker(parts);
  let closing: Promise<void> | undefined;

  const close = async (): Promise<void> => {
    inbox.end();
    parts.lingering.close();
    await speaker.close();
  };

  return {
    incoming: inbox.incoming,
    get last() {
      return last;
    },
    onRenewal: legacy.onRenewal,
    listening: legacy.listening,
    send(message) {
      if (closing !== undefined) return undefined;
      if (message.kind === "request" && message.method === "initialize") speaker = legacy;
      speaker.send(message);
      return undefined;
    },
    close() {
      closing ??= close();
      return closing;
    },
  };
}

function partsOf(options: HttpChannelOptions, inbox: HttpParts["inbox"], answered: HttpParts["answered"]): HttpParts {
  const { endpoint, clock, warn, timeoutMs, maxBodyBytes, jsonLimits, random = Math.random } = options;
  const deadlines = createDeadlines(clock);
  return {
    endpoint,
    inbox,
    limits: answerLimits(maxBodyBytes, jsonLimits),
    clock,
    deadlines,
    lingering: createLingering(deadlines),
    warn,
    random,
    timeoutMs,
    answered,
  };
}
