import { defaultJsonLimits, type JsonLimits, replyJsonLimits } from "../json/shape.ts";

/** Limits of one message, and of the events of one stream. 0 and `Infinity` disable a limit. */
export interface Limits {
  /** Bytes of one message: of a body, of a line, of an event. */
  readonly maxMessageBytes?: number | undefined;
  /** How deep the JSON of a message may be nested. */
  readonly maxJsonDepth?: number | undefined;
  /** Values in the JSON of a message. */
  readonly maxJsonNodes?: number | undefined;
  /** Bytes that a client may leave unread on one stream, besides the message it is reading, before it is cut off. */
  readonly maxUnreadBytes?: number | undefined;
  /** Events retained of each session for clients that reconnect; more while they are only seconds old. */
  readonly maxReplayEvents?: number | undefined;
  /** Bytes of those events. */
  readonly maxReplayBytes?: number | undefined;
  /** Characters of the URI of a resource that is subscribed to. */
  readonly maxUriLength?: number | undefined;
}

/** Limits of one message; `Infinity` where one is disabled. */
export interface MessageLimits extends JsonLimits {
  readonly maxMessageBytes: number;
}

/** All limits; `Infinity` where one is disabled. */
export interface AllLimits extends MessageLimits {
  readonly maxUnreadBytes: number;
  readonly maxReplayEvents: number;
  readonly maxReplayBytes: number;
  readonly maxUriLength: number;
}

const MIB = 1_048_576;

export const httpLimits: AllLimits = {
  maxMessageBytes: 4 * MIB,
  ...defaultJsonLimits,
  maxUnreadBytes: 4 * MIB,
  maxReplayEvents: 256,
  maxReplayBytes: MIB,
  maxUriLength: 4_096,
};

export const stdioLimits: AllLimits = { ...httpLimits, maxMessageBytes: 16 * MIB };

export const clientLimits: AllLimits = { ...stdioLimits, ...replyJsonLimits };

/** The limits of one message that may have less than others. */
export function within(limits: MessageLimits, maxBytes: number | undefined): MessageLimits {
  return maxBytes === undefined || maxBytes > limits.maxMessageBytes
    ? limits
    : { ...limits, maxMessageBytes: maxBytes };
}
