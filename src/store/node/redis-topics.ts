import { systemClock } from "../../std/clock.ts";
import { checkName } from "../check.ts";
import { StoreError, type Topics } from "../store.ts";
import { createHub, type Hub, type TopicMessage, type TopicPage } from "./redis-hub.ts";
import type { Link, LinkEvents } from "./redis-link.ts";
import { decodeText, encodeText } from "./redis-names.ts";
import type { RedisParts } from "./redis-parts.ts";

export interface RedisTopics extends Topics {
  /** Ends all subscriptions. */
  end(): Promise<void>;
}

/** A topic somebody listens to. */
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
export function redisTopics(parts: RedisParts, open: (events: LinkEvents) => Link): RedisTopics {
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

  const link = open({
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
        link.tell((redis) => redis.unsubscribe(channel));
      },
    });
    const subscribed = link.run((redis) => redis.subscribe(channel));
    const entry = { hub, subscribed };
    heard.set(channel, entry);
    return entry;
  };

  const stopBeat = keepBeating((beat) => {
    if (heard.size === 0) return;
    link.run((redis) => redis.ping()).catch(() => {});
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
      await link.close();
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
