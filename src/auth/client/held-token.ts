import { type DpopKey, toDpopKey } from "./dpop.ts";
import type { TokenPlace, Tokens, Vault } from "./vault.ts";

/** A token that is in use. */
export interface Held {
  readonly place: TokenPlace;
  readonly tokens: Tokens;
  readonly key: DpopKey | undefined;
}

export interface HeldTokenParts {
  readonly vault: Vault;
  /** What the server is called in the vault. */
  readonly name: string;
  /** Whether only tokens that are bound to a key are of use. */
  readonly dpop: boolean;
  /** Milliseconds of the time of day. */
  now(): number;
}

/** The token in use, and the one before. */
export interface HeldToken {
  readonly current: Held | undefined;
  /** What was in use last, which tells where to look for another one, and what for. */
  readonly last: Held | undefined;
  /** Whether another token is needed before the next request, as far as is known. */
  isDue(): boolean;
  hold(place: TokenPlace, tokens: Tokens): Promise<void>;
  /** Uses no token. */
  drop(): void;
  /** Uses what was kept, if it is of use. */
  takeKept(): Promise<void>;
}

export function createHeldToken({ vault, name, dpop, now }: HeldTokenParts): HeldToken {
  let current: Held | undefined;
  let last: Held | undefined;

  const hold = async (place: TokenPlace, tokens: Tokens): Promise<void> => {
    const known = last?.tokens.key?.x === tokens.key?.x ? last?.key : undefined;
    const key = tokens.key === undefined ? undefined : (known ?? (await toDpopKey(tokens.key, now)));
    current = { place, tokens, key };
    last = current;
  };

  return {
    get current() {
      return current;
    },
    get last() {
      return last;
    },
    isDue() {
      return current === undefined || (current.tokens.renewAt !== undefined && current.tokens.renewAt <= now());
    },
    hold,
    drop() {
      current = undefined;
    },
    async takeKept() {
      const place = await vault.place(name);
      const tokens = place === undefined ? undefined : await vault.tokens(place);
      const isOfUse = tokens !== undefined && dpop === (tokens.key !== undefined);
      if (place !== undefined && isOfUse) await hold(place, tokens);
    },
  };
}
