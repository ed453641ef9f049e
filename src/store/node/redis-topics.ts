import { type Clock, systemClock } from "../../std/clock.ts";
import { checkName } from "../check.ts";
import { StoreError, type StoreTopics, type TopicSubscription } from "../store.ts";
import { createSubscriptionQueue, QUEUE_MAX } from "../subscription-queue.ts";
import type { ConnectionEvents, RedisConnection, RedisParts } from "./redis-connection.ts";
import { decodeText, encodeText } from "./redis-scripts.ts";

interface RedisTopics extends StoreTopics {
  /** Ends all subscriptions. */
  end(): Promise<void>;
}

/** A topic with subscribers. */
interface Heard {
  readonly hub: Hub;
  /** Redis sends its messages. */
  readonly subscribed: Promise<unknown>;
}

const PAGE = 500;
/** How often the connection is tried, and how often the topics are compared with what Redis has kept. */
const BEAT_MS = 15_000;
const BEATS_PER_CHECK = 4;

/**
 * Messages go two ways: to who listens, by a channel, and into a stream that Redis keeps for some minutes. Who missed
 * some, because the connection broke or for any other reason, reads them from the stream.
 */
export function redisTopics(parts: RedisParts, open: (events: ConnectionEvents) => RedisConnection): RedisTopics {
  const { keys, commands, change } = parts;
  const heard = new Map<string, Heard>();
  let ended = false;

  const read = async (topic: string, after: number | undefined): Promise<TopicPage> => {
    const from = after === undefined ? "" : String(after);
    const answer = await commands.script("catchUp", [keys(topic, "topic"), keys(topic, "newest"), from, String(PAGE)]);
    return pageOf(answer as Answer);
  };

  const checkAll = (): void => {
    for (const { hub } of heard.values()) hub.check();
  };

  const connection = open({
    onUp(redis) {
      // If it does not work, the connection broke again, and is made again.
      if (heard.size > 0) redis.subscribe(...heard.keys()).then(checkAll, () => {});
    },
    onMessage: (channel, text) => heard.get(channel)?.hub.hear(messageOf(text)),
  });

  const listen = (topic: string, channel: string): Heard => {
    const hub = createHub({
      clock: systemClock,
      read: (after) => read(topic, after),
      onEmpty() {
        if (heard.get(channel)?.hub !== hub) return;
        heard.delete(channel);
        hub.end();
        connection.tell((redis) => redis.unsubscribe(channel));
      },
    });
    const subscribed = connection.run((redis) => redis.subscribe(channel));
    const entry = { hub, subscribed };
    heard.set(channel, entry);
    return entry;
  };

  const stopBeat = keepBeating((beat) => {
    if (heard.size === 0) return;
    connection.run((redis) => redis.ping()).catch(() => {});
    if (beat % BEATS_PER_CHECK === 0) checkAll();
  });

  return {
    async publish(topic, text) {
      checkName(topic);
      await change("publish", { name: topic, keys: ["topic", "newest"], args: [encodeText(text)] });
    },
    async subscribe(topic) {
      checkName(topic);
      const channel = keys(topic, "topic");
      const { hub, subscribed } = heard.get(channel) ?? listen(topic, channel);
      const listener = hub.join();
      try {
        await subscribed;
        const { newest } = await read(topic, undefined);
        if (ended) throw new StoreError("closed", "the store is closed");
        listener.start(newest);
        return listener.subscription;
      } catch (error) {
        await listener.subscription.close();
        throw error;
      }
    },
    async end() {
      ended = true;
      stopBeat();
      for (const { hub } of heard.values()) hub.end();
      heard.clear();
      await connection.close();
    },
  };
}

/** Calls `beat` again and again, counting. Keeps no process alive. */
function keepBeating(beat: (count: number) => void): () => void {
  let stop = (): void => {};
  const arm = (count: number): void => {
    stop = systemClock.after(BEAT_MS, () => {
      arm(count + 1);
      beat(count);
    });
  };
  arm(1);
  return () => stop();
}

type Answer = readonly [newest: string, entries: readonly (readonly [id: string, fields: readonly string[]])[]];

function pageOf([newest, entries]: Answer): TopicPage {
  const messages = entries.map(([id, [, previous, , text]]) => ({
    id: Number.parseInt(id, 10),
    previous: Number(previous),
    text: decodeText(text ?? ""),
  }));
  return { newest: Number(newest), messages, more: messages.length === PAGE };
}

/** A message as it comes by the channel: its id, the id before it, and its text. */
function messageOf(sent: string): TopicMessage {
  const first = sent.indexOf(" ");
  const second = sent.indexOf(" ", first + 1);
  return {
    id: Number(sent.slice(0, first)),
    previous: Number(sent.slice(first + 1, second)),
    text: decodeText(sent.slice(second + 1)),
  };
}

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

/** One topic, for all its subscribers in this process. */
interface Hub {
  /** Somebody who listens as soon as it is told from where. */
  join(): Listener;
  /** A message came. It may be one of those that came before, or not the next one. */
  hear(message: TopicMessage): void;
  /** Messages may have been missed. */
  check(): void;
  end(): void;
}

interface Listener {
  readonly subscription: TopicSubscription;
  /** Gets what comes after this message. */
  start(id: number): void;
}

interface HubOptions {
  readonly clock: Clock;
  /** What was published after a message. */
  read(id: number): Promise<TopicPage>;
  /** The last subscriber has left. */
  onEmpty(): void;
}

/** It is unknown which messages were missed, so all subscribers may have missed some. */
const EVERYBODY = Number.POSITIVE_INFINITY;
const RETRY_MS = 500;

export function createHub({ clock, read, onEmpty }: HubOptions): Hub {
  const members = new Set<Member>();
  /** Came while older ones are read. */
  let early: TopicMessage[] = [];
  /** The last message that was delivered. Undefined until there is a subscriber. */
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
      if (reading && early.length < QUEUE_MAX) early.push(message);
      else check();
    },
    end() {
      ended = true;
      for (const member of members) member.end();
    },
  };
}

interface Member {
  readonly subscription: TopicSubscription;
  start(id: number): void;
  /** Delivers a text, or that something was missed. Only what is after its start. */
  tell(id: number, text: string | undefined): void;
  end(): void;
}

function createMember(left: () => void): Member {
  const queue = createSubscriptionQueue(left);
  let from: number | undefined;
  /** Came before it is known whether it is after the start. */
  let early: [id: number, text: string | undefined][] = [];

  const deliver = (text: string | undefined): void => (text === undefined ? queue.miss() : queue.deliver(text));

  return {
    subscription: queue.subscription,
    start(id) {
      from = id;
      for (const [at, text] of early) if (at > id) deliver(text);
      early = [];
    },
    tell(id, text) {
      if (from !== undefined) {
        if (id > from) deliver(text);
      } else if (early.length < QUEUE_MAX) early.push([id, text]);
      else early = [[id, undefined]];
    },
    end: queue.end,
  };
}
