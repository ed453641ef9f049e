import { describe, expect, it } from "vitest";
import { memoryStore } from "../../src/store/memory-store.ts";
import { openStore } from "../../src/store/node/index.ts";
import type { Store } from "../../src/store/store.ts";
import { hasSqlite, testWithSqlite } from "../store/node22.ts";
import { newPath } from "../store/sqlite-place.ts";
import { redisProgram, startRedis } from "../support/redis.ts";
import {
  createPlace,
  createRandom,
  deeds,
  directly,
  interleave,
  type Route,
  throughHost,
} from "../support/two-principals.ts";

// FC_SEED=random tries other interleavings; a number repeats those of a run that failed.
const { FC_SEED = "1" } = process.env;
const seed = FC_SEED === "random" ? Math.floor(Math.random() * 2 ** 32) : Number(FC_SEED);

/** Ways to the servers: whatever stands between must keep principals apart, too. */
const routes: readonly (readonly [way: string, route: Route])[] = [
  ["directly", directly],
  ["through a host", throughHost],
];

/** Of 1,000 in all: each route has as many on each of four kinds of stores. */
const INTERLEAVINGS = 1_000 / (4 * routes.length);
/** Then the processes are replaced, and the store stays. */
const AT_A_PLACE = Math.ceil(INTERLEAVINGS / 2);
/** At a time: while one waits for the store, another works. */
const AT_ONCE = 25;
const DEEDS = 30;
/** So often at least each thing is really done on every store, however it fell out: many need something of the other. */
const LEAST_TRIED = 20;
/** Some ten seconds on a machine that has nothing else to do. */
const patience = 300_000;

describe.each(routes)("two principals, %s", (way, route) => {
  const firstSeed = seed + 4 * INTERLEAVINGS * routes.findIndex(([name]) => name === way);

  it(title("in one process"), () => expectApart([undefined], firstSeed, route), patience);

  it(
    title("two processes on a store in memory"),
    async () => {
      const store = memoryStore();
      await expectApart([store, store], firstSeed + INTERLEAVINGS, route);
    },
    patience,
  );

  if (hasSqlite) {
    it(
      title("two processes on SQLite"),
      () => expectApartOn(`sqlite:${newPath()}`, firstSeed + 2 * INTERLEAVINGS, route),
      patience,
    );
  }

  it.skipIf(redisProgram === undefined)(
    title("two processes on Redis"),
    async () => {
      // Nothing here has to survive its end.
      await using redis = await startRedis("--appendonly", "no");
      await expectApartOn(redis.url, firstSeed + 3 * INTERLEAVINGS, route);
    },
    patience,
  );
});

if (!hasSqlite) testWithSqlite("test/e2e/two-principals.test.ts", routes.length, "two processes on SQLite");

function title(where: string): string {
  return `${where}: nothing of one is seen, changed or ended by the other, with seed ${seed} (S6, S8, S9)`;
}

/** The same where every process opens the store for itself. */
async function expectApartOn(url: string, firstSeed: number, route: Route): Promise<void> {
  const stores = [await openStore(url), await openStore(url)];
  await expectApart(stores, firstSeed, route);
  await Promise.all(stores.map((store) => store.close()));
}

/** Plays all interleavings of one store, each with a seed of its own. */
async function expectApart(stores: readonly (Store | undefined)[], firstSeed: number, route: Route): Promise<void> {
  const wrong: string[] = [];
  const tried = new Map(Object.keys(deeds).map((deed) => [deed, 0]));
  for (let first = 0; first < INTERLEAVINGS; first += AT_A_PLACE) {
    const place = await createPlace(stores, createRandom(firstSeed + first), route);
    const end = Math.min(first + AT_A_PLACE, INTERLEAVINGS);
    let next = first;
    const play = async (): Promise<void> => {
      while (next < end) {
        const number = next++;
        wrong.push(
          ...(await interleave(place, String(number), {
            count: DEEDS,
            random: createRandom(firstSeed + number),
            tried,
          })),
        );
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, play));
    await place.close();
  }
  expect(wrong).toEqual([]);
  if (process.env.TELL) console.log(JSON.stringify(Object.fromEntries(tried)));
  expect([...tried].filter(([, times]) => times < LEAST_TRIED)).toEqual([]);
}
