import { digestText } from "../../std/digest.ts";
import type { Store } from "../../store/store.ts";

/** Which process of a gateway has the connection of a caller to a server, and which has a call that waits for answers. */
export interface ConnectionHomes {
  /** The process that has the connection, or this one, which has it from now on. */
  claim(connection: string): Promise<string>;
  /** This process has it from now on, whoever had it. */
  take(connection: string): Promise<void>;
  /** This process has it no more. */
  release(connection: string): Promise<void>;
  /** A call waits here for answers. */
  keepRun(run: string): Promise<void>;
  /** The process in which a call waits. */
  homeOfRun(run: string): Promise<string | undefined>;
}

interface ConnectionHomesOptions {
  readonly store: Store;
  /** The name of this process. */
  readonly self: string;
  isAlive(node: string): Promise<boolean>;
}

/** Of what nobody has released: its process was killed. */
const FORGOTTEN_MS = 86_400_000;

export function createConnectionHomes({ store, self, isAlive }: ConnectionHomesOptions): ConnectionHomes {
  const { values } = store;
  const nameOf = async (connection: string): Promise<string> => `connection ${await digestText(connection)}`;
  const runName = (run: string): string => `waits ${run}`;

  const claim = async (name: string): Promise<string> => {
    for (;;) {
      const known = await values.get(name);
      if (known?.text === self || (known !== undefined && (await isAlive(known.text)))) return known.text;
      const put = await values.put(name, self, { version: known?.version ?? null, ttlMs: FORGOTTEN_MS });
      if (put !== undefined) return self;
    }
  };

  return {
    claim: async (connection) => claim(await nameOf(connection)),
    async take(connection) {
      await values.put(await nameOf(connection), self, { ttlMs: FORGOTTEN_MS });
    },
    async release(connection) {
      const name = await nameOf(connection);
      const known = await values.get(name);
      if (known?.text === self) await values.delete(name, { version: known.version });
    },
    async keepRun(run) {
      await values.put(runName(run), self, { ttlMs: FORGOTTEN_MS });
    },
    async homeOfRun(run) {
      const home = (await values.get(runName(run)))?.text;
      return home !== undefined && (home === self || (await isAlive(home))) ? home : undefined;
    },
  };
}
