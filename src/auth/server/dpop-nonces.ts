import { equalsInConstantTime } from "../client/digest.ts";
import { createHmac } from "./hmac.ts";

/** Nonces that a server wants to see in proofs, so that none can be made long before it is used. Nothing is kept. */
export interface DpopNonces {
  current(): Promise<string>;
  accepts(nonce: unknown): Promise<boolean>;
}

/** A nonce is good for one to two of these. */
const STEP_MS = 150_000;

/** All processes that have the same secret take the nonces of each other. */
export function createDpopNonces(secret: string | undefined, now: () => number): DpopNonces {
  const hmac = createHmac(secret);
  const nonceOf = (step: number): Promise<string> => hmac(`dpop-nonce ${step}`);
  return {
    current: () => nonceOf(Math.floor(now() / STEP_MS)),
    async accepts(nonce) {
      if (typeof nonce !== "string") return false;
      const step = Math.floor(now() / STEP_MS);
      const [newer, older] = await Promise.all([nonceOf(step), nonceOf(step - 1)]);
      const isNewer = equalsInConstantTime(nonce, newer);
      return equalsInConstantTime(nonce, older) || isNewer;
    },
  };
}
