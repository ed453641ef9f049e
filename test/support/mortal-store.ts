import type { Store } from "../../src/store/store.ts";

/** The end of a process, as its store sees it: nothing comes from it any more, and nothing reaches it. */
export interface MortalStore {
  readonly store: Store;
  /** Calls of the store so far. */
  readonly calls: number;
  readonly dead: boolean;
  /** Resolves when it is dead. */
  readonly death: Promise<void>;
  kill(): void;
  /** Nothing it says reaches the store before it is thawed. */
  freeze(): void;
  thaw(): void;
}

export interface Fate {
  /** Which call of the store is its last. Never when left out. */
  readonly at?: number;
  /** Whether that call is still carried out. Its answer does not arrive in any case. */
  readonly carriedOut?: boolean;
}

type Member = (...args: readonly unknown[]) => unknown;

/** Sees a store as one process of several does, up to its sudden end. */
export function mortalStore(shared: Store, { at, carriedOut = false }: Fate = {}): MortalStore {
  let [calls, dead] = [0, false];
  let tellDeath = (): void => {};
  const death = new Promise<void>((resolve) => {
    tellDeath = resolve;
  });
  const kill = (): void => {
    dead = true;
    tellDeath();
  };
  const never = new Promise<never>(() => {});
  let [frozen, thaw]: [Promise<void> | undefined, () => void] = [undefined, () => {}];
  const freeze = (): void => {
    frozen = new Promise((resolve) => {
      thaw = resolve;
    });
  };

  const guarded = async (call: () => unknown): Promise<unknown> => {
    await frozen;
    if (dead) return never;
    calls++;
    if (calls === at) {
      if (carriedOut) await call();
      kill();
    }
    if (dead) return never;
    const answer = await call();
    return dead ? never : wrapped(answer);
  };

  /** What a store gives, such as a lease, dies with it. */
  const wrapped = (thing: unknown): unknown => {
    if (typeof thing !== "object" || thing === null || Array.isArray(thing)) return thing;
    return new Proxy(thing, {
      get(target, key) {
        const member = Reflect.get(target, key);
        if (typeof member === "function")
          return (...args: unknown[]) => guarded(() => (member as Member).apply(target, args));
        return typeof member === "object" ? wrapped(member) : member;
      },
    });
  };

  const store = wrapped(shared) as Store;
  return {
    // A promise may be made of it, which looks for `then`.
    store: new Proxy(store, { get: (target, key) => (key === "then" ? undefined : Reflect.get(target, key)) }),
    get calls() {
      return calls;
    },
    get dead() {
      return dead;
    },
    death,
    kill,
    freeze,
    thaw: () => thaw(),
  };
}
