import type { JsonObject } from "../json/json.ts";
import type { Clock } from "../std/clock.ts";
import type { Failure } from "./errors.ts";
import type { Question, QuestionAnswer } from "./input.ts";
import type { LogLevel } from "./logging.ts";
import type { DiscoverResult } from "./methods.ts";
import type { ClientCapabilities, ClientInfo, Implementation } from "./peer.ts";
import type { Era, Revision } from "./revision.ts";
import type { CallOf, Service } from "./service.ts";

/** The information about a client that a transport needs to open a connection. */
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
  /** Called with notifications that belong to no call. */
  notified(method: string, params: JsonObject): void;
  /** Called when the server violates the protocol without failing a call. */
  readonly warn?: ((warning: ConnectionWarning) => void) | undefined;
  /**
   * Called with each attempt to open the connection; the function that it returns is called with the response of the
   * server.
   */
  readonly trying?: ((opening: string) => (answer: string) => void) | undefined;
  /** The revision to use. Absent means the newest that both sides know. */
  readonly revision?: Revision | undefined;
  /** The revision that the server used last time, if known. It may have changed. */
  readonly era?: Era | undefined;
  /**
   * For opening as a whole, where the caller enforces it, and for each later step without a limit of its own, in
   * milliseconds. 0 disables it.
   */
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

/** An open connection to one server, in either era. */
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
  /** Binds the current context, such as an open span, to work that is done later. Present only with telemetry. */
  bind?(work: () => void): () => void;
  /** Only where the log level is a property of the connection. */
  setLogLevel?(level: LogLevel, headers?: CallOf["headers"]): Promise<void>;
  /** Only where the revision has it. */
  ping?(headers?: CallOf["headers"]): Promise<void>;
  /** False where a server of an older revision has no session, so that every request is independent. */
  readonly hasSession?: boolean;
  /** The process of the server, where this side has started it. */
  readonly pid?: number;
  /** True where the headers of a call are sent: over HTTP. */
  readonly takesHeaders?: boolean;
  /**
   * The credentials that identify this client to the server: while the text is equal, so is the caller. Secret. Present
   * only where they may change while the connection is open.
   */
  readonly credentials?: () => Promise<string>;
  /** Sends a notification that belongs to no call, unless the revision defines it no more, or not yet. */
  tell?(method: string, params: JsonObject): void;
}

/** A connection but for how it ends. */
export type OpenConnection = Omit<Connection, "ended" | "close">;
