import type { JsonObject } from "../json/json.ts";
import type { Clock } from "../std/clock.ts";
import type { Failure } from "./errors.ts";
import type { Question, QuestionAnswer } from "./input.ts";
import type { LogLevel } from "./logging.ts";
import type { DiscoverResult } from "./methods.ts";
import type { ClientCapabilities, ClientInfo, Implementation } from "./peer.ts";
import type { Era, Revision } from "./revision.ts";
import type { CallOf, Service } from "./service.ts";

/** What a transport is told about the client that opens it. */
export interface Opening {
  readonly info: Implementation;
  readonly capabilities: ClientCapabilities;
  /**
   * Answers what a legacy server asks at any time. Throws an `McpError` to refuse. `related` is the id of the request whose
   * response stream brought the question, where there is one.
   */
  answer(question: Question, signal: AbortSignal, related?: string | number): Promise<QuestionAnswer>;
  /** Answers what a legacy server asks and the protocol does not define. Throws an `McpError` to refuse. */
  readonly request?: ((method: string, params: JsonObject, signal: AbortSignal) => Promise<QuestionAnswer>) | undefined;
  /** Hears what belongs to no call. */
  notified(method: string, params: JsonObject): void;
  /** Hears of what the server does against the protocol without failing a call. */
  readonly warn?: ((warning: ConnectionWarning) => void) | undefined;
  /** Hears of each opening that is tried; what it returns hears how the server answered. */
  readonly trying?: ((opening: string) => (answer: string) => void) | undefined;
  /** The revision to speak. Absent means the newest both sides know. */
  readonly revision?: Revision | undefined;
  /** What the server spoke last time, if anybody knows. A guess: it may have changed. */
  readonly era?: Era | undefined;
  /** For all of the opening, which whoever opens sees to, and for each later step that has no limit of its own. 0 is off. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
}

/** Something that went wrong on a connection without failing a call. */
export interface ConnectionWarning {
  readonly kind: "not-honoured";
  readonly message: string;
}

/** How a connection ended: undefined when this side closed it. */
export type Ending = Failure | undefined;

/** An open line to one server, in whatever era it speaks. */
export interface Connection {
  readonly service: Service;
  readonly revision: Revision;
  /** What the server said of itself when the connection was opened. */
  readonly server: DiscoverResult;
  /** What every call states about this client. */
  readonly peer: ClientInfo;
  /** Resolves when the connection is over. Never rejects. */
  readonly ended: Promise<Ending>;
  /** Idempotent, never rejects. Every open call fails with `connection-closed`. */
  close(): Promise<void>;
  /** Keeps the context of the moment, such as an open span, for work that is done later. Only where somebody looks at it. */
  bind?(work: () => void): () => void;
  /** Only where the log level is a property of the connection. */
  setLogLevel?(level: LogLevel, headers?: CallOf["headers"]): Promise<void>;
  /** Only where the revision has it. */
  ping?(headers?: CallOf["headers"]): Promise<void>;
  /** False where a server of an older revision keeps no session: every request stands for itself. */
  readonly hasSession?: boolean;
  /** The process of the server, where this side has started it. */
  readonly pid?: number;
  /** True where the headers of a call are sent: over HTTP. */
  readonly takesHeaders?: boolean;
  /**
   * What shows the server now who this client is: while the text is the same, so is the caller. Secret. Only where it may
   * change while the connection is open.
   */
  readonly credentials?: () => Promise<string>;
  /** Sends a notification that belongs to no call, unless the revision defines it no more, or not yet. */
  tell?(method: string, params: JsonObject): void;
}

/** A connection but for how it ends. */
export type OpenConnection = Omit<Connection, "ended" | "close">;
