import type { Clock } from "../../std/clock.ts";
import { createInbox, INBOX_MAX } from "../inbox.ts";
import type { Subscription } from "../store.ts";

/** A message of a topic. Ids grow, and each message names the one before it. */
export interface TopicMessage {
  readonly id: number;
  readonly previous: number;
  readonly text: string;
}

/** Messages that Redis has kept, oldest first. */
export interface TopicPage {
  /** The id of the newest message there is. */
  readonly newest: number;
  readonly messages: readonly TopicMessage[];
  /** Whether there may be more after them. */
  readonly more: boolean;
}

/** One topic, for all who listen to it in this process. */
export interface Hub {
  /** Somebody who listens as soon as it is told from where. */
  join(): Listener;
  /** A message came. It may be one of those that came before, or not the next one. */
  hear(message: TopicMessage): void;
  /** Messages may have been missed. */
  check(): void;
  end(): void;
}

export interface Listener {
  readonly subscription: Subscription;
  /** Gets what comes after this message. */
  start(id: number): void;
}

export interface HubOptions {
  readonly clock: Clock;
  /** What was published after a message. */
  read(id: number): Promise<TopicPage>;
  /** The last one who listened left. */
  onEmpty(): void;
}

/** Nobody can say what was missed, so everybody missed it. */
const EVERYBODY = Number.POSITIVE_INFINITY;
const RETRY_MS = 500;

export function createHub({ clock, read, onEmpty }: HubOptions): Hub {
  const members = new Set<Member>();
  /** Came while older ones are read. */
  let early: TopicMessage[] = [];
  /** The last message that was delivered. Undefined until somebody started. */
  let last: number | undefined;
  let behind = false;
  let reading = false;
  let ended = false;

  const tell = (id: number, text: string | undefined): void => {
    for (const member of members) member.tell(id, text);
  };

  /** Delivers the next message that is known. What is missing before it is gone. */
  const take = ({ id, previous, text }: TopicMessage): void => {
    if (previous !== last) tell(previous < (last ?? 0) ? EVERYBODY : previous, undefined);
    tell(id, text);
    last = id;
  };

  const takeEarly = (): void => {
    const messages = early;
    early = [];
    for (const message of messages) {
      if (message.previous === last) take(message);
      else if (message.id > (last ?? 0)) behind = true;
    }
  };

  const readOn = async (from: number): Promise<void> => {
    behind = false;
    const { newest, messages, more } = await read(from);
    for (const message of messages) take(message);
    if (more) behind = true;
    else if (newest !== last) {
      tell(newest < (last ?? 0) ? EVERYBODY : newest, undefined);
      last = newest;
    }
    takeEarly();
  };

  const catchUp = async (): Promise<void> => {
    if (reading) return;
    reading = true;
    try {
      while (behind && !ended && last !== undefined) await readOn(last);
    } catch {
      behind = true;
      clock.after(RETRY_MS, catchUp);
    } finally {
      reading = false;
    }
  };

  const check = (): void => {
    behind = true;
    void catchUp();
  };

  return {
    check,
    join() {
      const member = createMember(() => {
        if (members.delete(member) && members.size === 0) onEmpty();
      });
      members.add(member);
      return {
        subscription: member.subscription,
        start(id) {
          last ??= id;
          member.start(id);
          if (behind) void catchUp();
        },
      };
    },
    hear(message) {
      if (last !== undefined && !reading && message.previous === last) return take(message);
      if (message.id <= (last ?? 0)) return;
      if (reading && early.length < INBOX_MAX) early.push(message);
      else check();
    },
    end() {
      ended = true;
      for (const member of members) member.end();
    },
  };
}

interface Member {
  readonly subscription: Subscription;
  start(id: number): void;
  /** Delivers a text, or that something was missed. Only what is after its start. */
  tell(id: number, text: string | undefined): void;
  end(): void;
}

function createMember(left: () => void): Member {
  const inbox = createInbox(left);
  let from: number | undefined;
  /** Came before it is known whether it is after the start. */
  let early: [id: number, text: string | undefined][] = [];

  const deliver = (text: string | undefined): void => (text === undefined ? inbox.miss() : inbox.deliver(text));

  return {
    subscription: inbox.subscription,
    start(id) {
      from = id;
      for (const [at, text] of early) if (at > id) deliver(text);
      early = [];
    },
    tell(id, text) {
      if (from !== undefined) {
        if (id > from) deliver(text);
      } else if (early.length < INBOX_MAX) early.push([id, text]);
      else early = [[id, undefined]];
    },
    end: inbox.end,
  };
}
