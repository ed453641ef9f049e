import { randomBytes } from "node:crypto";
import type { Link } from "./redis-link.ts";
import type { KeyPart, Keys } from "./redis-names.ts";
import type { ScriptName } from "./redis-scripts.ts";

/** What the parts of a store in Redis are made of. */
export interface RedisParts {
  readonly keys: Keys;
  readonly commands: Link;
  /** How long a call may take. */
  readonly waitMs: number;
  /** Carries out a change exactly once, as part of what has this name. */
  change(script: ScriptName, change: Change): Promise<string>;
}

export interface Change {
  readonly name: string;
  readonly keys: readonly KeyPart[];
  readonly args: readonly string[];
  /** A new one, unless it is also for something else. */
  readonly id?: string;
}

/** Texts that are never given twice, by nobody. */
export function createIds(): () => string {
  const owner = randomBytes(9).toString("base64url");
  let count = 0;
  return () => `${owner}.${(count++).toString(36)}`;
}

/** How long Redis remembers that it carried out a change, beyond the time in which it may be sent again. */
const MARGIN_MS = 5_000;

export function redisParts(commands: Link, keys: Keys, waitMs: number): RedisParts {
  const newId = createIds();
  const memory = String(waitMs + MARGIN_MS);
  return {
    keys,
    commands,
    waitMs,
    async change(script, { name, keys: parts, args, id = newId() }) {
      const owned = parts.map((part) => keys(name, part));
      return String(await commands.script(script, [keys(name, `did:${id}`), ...owned, memory, ...args]));
    },
  };
}

/** A time to live as Redis takes it. */
export function ttlText(ttl: number): string {
  return String(Math.min(Math.ceil(ttl), LONGEST_MS));
}

/** A thousand years: Redis refuses times that it cannot add to now. */
const LONGEST_MS = 31_536_000_000_000;
