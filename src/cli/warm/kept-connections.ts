import type { ClientRequestHandlers } from "../../client/request-handlers.ts";
import { dial } from "../../connect/connect.ts";
import type { ClientConnection } from "../../connect/create-connect.ts";
import type { JsonObject } from "../../json/json.ts";
import type { Authorizer } from "../../protocol/authorizer.ts";
import type { Connection } from "../../protocol/connection.ts";
import { type Failure, McpError } from "../../protocol/errors.ts";
import type { Question, QuestionAnswer } from "../../protocol/input.ts";
import type { ClientCapabilities, Implementation } from "../../protocol/peer.ts";
import { eraOf } from "../../protocol/revision.ts";
import type { KeptStatus, WarmTarget } from "./messages.ts";

/** A command that uses a connection. */
export interface Borrower {
  readonly info: Implementation;
  readonly capabilities: ClientCapabilities;
  readonly connectTimeoutMs: number;
  /** Aborts when the command is gone. */
  readonly gone: AbortSignal;
  ask(question: Question, signal: AbortSignal): Promise<QuestionAnswer>;
  told(method: string, params: JsonObject): void;
  stderr(text: string): void;
  warn(message: string): void;
  ended(failure: Failure): void;
}

/** The connections to one target that are kept between commands. */
export interface KeptConnections {
  /**
   * A connection for a command, until it is gone. It is lent to one command at a time: logs, stderr and questions need not
   * belong to a call. A second command at the same moment gets a connection of its own, which is kept as well. Over HTTP of
   * 2026-07-28, where all of it does, commands share one. A server of an older revision was told once what it may ask:
   * its connection is for commands that can be asked the same.
   */
  lend(borrower: Borrower): Promise<Connection>;
  /** Connections that are open or being opened. */
  readonly size: number;
  status(): readonly KeptStatus[];
  /** Ends all connections, and what was started for them. */
  close(): Promise<void>;
}

interface Slot {
  readonly users: Set<Borrower>;
  /** Of an older revision, what the server was told about the client. */
  readonly capabilities: string;
  readonly opened: Promise<ClientConnection>;
  /** Ends the attempt to connect. */
  readonly abort: AbortController;
  readonly since: number;
  /** Whose it is, where it is not shared. */
  owner: Borrower;
  line: ClientConnection | undefined;
}

/** Connections that no command uses are kept up to this number. */
const maxFree = 4;

interface KeptConnectionsOptions {
  readonly target: WarmTarget;
  /** Makes what shows a server at a URL who the user is. */
  auth(): Promise<Authorizer | undefined>;
  /** Hears that a connection is over, or could not be opened. */
  onEnd(): void;
}

export function createKeptConnections({ target, auth, onEnd }: KeptConnectionsOptions): KeptConnections {
  const slots = new Set<Slot>();

  const create = (borrower: Borrower): Slot => {
    const abort = new AbortController();
    const users = new Set<Borrower>();
    const slot: Slot = {
      users,
      abort,
      owner: borrower,
      capabilities: JSON.stringify(borrower.capabilities),
      since: Date.now(),
      line: undefined,
      opened: open(() => slot),
    };
    slots.add(slot);
    return slot;
  };

  const open = async (slotOf: () => Slot): Promise<ClientConnection> => {
    const authorizer = await auth().catch((error: unknown) => ({ error }));
    // The slot is there when this goes on.
    const slot = slotOf();
    try {
      if (authorizer !== undefined && "error" in authorizer) throw authorizer.error;
      const line = await dial(entryFor(target, slot), {
        handlers: handlersFor(slot),
        info: slot.owner.info,
        revision: target.revision,
        connectTimeoutMs: slot.owner.connectTimeoutMs,
        auth: authorizer,
        signal: slot.abort.signal,
        onWarning: ({ message }) => tell(slot, (user) => user.warn(message)),
      });
      slot.line = line;
      void line.connection.ended.then((failure) => end(slot, failure));
      return line;
    } catch (error) {
      slots.delete(slot);
      onEnd();
      throw error;
    }
  };

  const end = (slot: Slot, failure: Failure | undefined): void => {
    slots.delete(slot);
    tell(slot, (user) => user.ended(failure ?? stopped));
    onEnd();
  };

  const leave = (slot: Slot, borrower: Borrower): void => {
    slot.users.delete(borrower);
    if (slot.users.size > 0) return;
    if (slot.line === undefined) slot.abort.abort(new Error("nobody waits for the connection"));
    else if ([...slots].filter(({ users }) => users.size === 0).length > maxFree) void slot.line.client.close();
  };

  return {
    async lend(borrower) {
      for (;;) {
        const slot = [...slots].find((one) => isFor(one, borrower)) ?? create(borrower);
        if (slot.users.size === 0) slot.owner = borrower;
        slot.users.add(borrower);
        borrower.gone.addEventListener("abort", () => leave(slot, borrower), { once: true });
        const { connection } = await slot.opened;
        if (borrower.gone.aborted) throw new McpError("cancelled", "the command is gone");
        if (isShared(connection) || slot.owner === borrower) return connection;
        leave(slot, borrower);
      }
    },
    get size() {
      return slots.size;
    },
    status: () => [...slots].flatMap(statusOf),
    async close() {
      await Promise.all(
        [...slots].map(async ({ line, abort, opened }) => {
          abort.abort(new Error("the background process ends"));
          await (line === undefined ? opened.catch(() => {}) : line.client.close());
        }),
      );
    },
  };
}

const stopped: Failure = {
  code: "connection-closed",
  message: "the background process that kept the server was stopped",
};

/** Whether a command can use a connection, as far as that is known. Of one that is being opened nobody knows the revision. */
function isFor({ line, users, capabilities }: Slot, borrower: Borrower): boolean {
  if (line === undefined) return true;
  if (isShared(line.connection)) return true;
  if (users.size > 0) return false;
  return isModern(line.connection) || capabilities === JSON.stringify(borrower.capabilities);
}

/** True where whatever a server says belongs to a call: there, each call has a response of its own. */
function isShared(connection: Connection): boolean {
  return isModern(connection) && connection.takesHeaders === true;
}

function isModern({ revision }: Connection): boolean {
  return eraOf(revision) === "modern";
}

function entryFor({ entry }: WarmTarget, slot: Slot): Parameters<typeof dial>[0] {
  if ("url" in entry) return entry;
  return { ...entry, stderr: (text: string) => tell(slot, (user) => user.stderr(text)) };
}

function tell({ users }: Slot, news: (user: Borrower) => void): void {
  for (const user of users) news(user);
}

/** What the server asks and says goes to the command that uses the connection. */
function handlersFor(slot: Slot): ClientRequestHandlers {
  return {
    capabilities: slot.owner.capabilities,
    isOpen: false,
    activity: { pending: 0, served: 0 },
    answer(question, signal) {
      if (slot.users.has(slot.owner)) return slot.owner.ask(question, signal);
      throw new McpError("rejected", "no command is connected that could be asked");
    },
    request: undefined,
    handlesNotifications: true,
    onOtherNotification: (method, params) => tell(slot, (user) => user.told(method, params)),
    close() {},
    setRoots() {},
  };
}

function statusOf({ line, users, since }: Slot): readonly KeptStatus[] {
  if (line === undefined) return [];
  const { revision, pid } = line.connection;
  return [{ pid, revision, since, commands: users.size }];
}
