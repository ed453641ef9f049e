import type { Account, Shortage } from "../../protocol/budget.ts";

/** Characters of an answer that is written as its client reads. Shorter ones are always sent, and counted while they are not read. */
export const LARGE_BODY = 131_072;

/**
 * What one HTTP request holds: the bytes of its body and of its answer, as long as the client waits, something of it runs,
 * or its answer is not read.
 */
export class RequestHold {
  readonly #share: Account;
  #bytes = 0;
  #holders = 1;

  constructor(share: Account) {
    this.#share = share;
    share.add("openRequests");
  }

  /** Whose share it is: the principal or address. */
  get owner(): string {
    return this.#share.owner;
  }

  /** Undefined when there was room for so many bytes. */
  take(bytes: number): Shortage | undefined {
    const short = this.#share.take("heldBytes", bytes);
    if (short === undefined) this.#bytes += bytes;
    return short;
  }

  /** Counts a large answer, which is there already. Says why not when its caller has used up a share before it. */
  takeLarge(bytes: number): Shortage | undefined {
    const short = this.#share.shortage("heldBytes");
    if (short !== undefined && short.scope !== "process") return short;
    this.add(bytes);
    return undefined;
  }

  /** Counts what is there anyway. */
  add(bytes: number): void {
    this.#share.add("heldBytes", bytes);
    this.#bytes += bytes;
  }

  /** Another request needs the memory. */
  hold(): void {
    this.#holders++;
  }

  /** Gives everything back when the last one does so. */
  release(): void {
    if (--this.#holders > 0) return;
    this.#share.giveRequest(this.#bytes);
  }
}
