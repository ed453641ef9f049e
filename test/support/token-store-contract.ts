import { describe, expect, it } from "vitest";
import type { TokenStore } from "../../src/auth/client/token-store.ts";

/** A place where tokens are kept, with any number of stores over it, as processes would have. */
export interface TokenPlace extends AsyncDisposable {
  open(): TokenStore;
}

/** As long as the names that are used. */
const [first, second] = ["a".repeat(43), "b".repeat(43)] as const;

export interface TokenStoreContract {
  /** Whether processes can share it, so that they have to take turns. Default true. */
  readonly isShared?: boolean;
}

/** What every store for tokens promises. */
export function describeTokenStore(
  name: string,
  make: () => TokenPlace | Promise<TokenPlace>,
  { isShared = true }: TokenStoreContract = {},
): void {
  describe(`tokens in ${name}`, () => {
    it("are there until they are deleted, also for others who look there", async () => {
      await using place = await make();
      const [one, other] = [place.open(), place.open()];
      expect(await other.get(first)).toBeUndefined();
      await one.set(first, "1");
      await one.set(second, "2");
      await one.set(first, "3");
      expect([await other.get(first), await other.get(second)]).toEqual(["3", "2"]);
      await other.delete(first);
      await other.delete(first);
      expect([await one.get(first), await one.get(second)]).toEqual([undefined, "2"]);
      await one.set(first, "4");
      expect(await other.get(first)).toBe("4");
    });

    it("are given back as they were, whatever is in them and however long", async () => {
      await using place = await make();
      const [one, other] = [place.open(), place.open()];
      for (const text of ["", "{}", "a\0b\r\n", "Ünïcödé 🗝", JSON.stringify({ accessToken: "x".repeat(100_000) })]) {
        await one.set(first, text);
        expect(await other.get(first)).toBe(text);
      }
    });

    it("are there whole, however many write them", async () => {
      await using place = await make();
      const stores = Array.from({ length: 4 }, () => place.open());
      const texts = Array.from({ length: 12 }, (_, index) => String(index).repeat(5_000));
      const reads = texts.map(async (text, index) => {
        const store = stores[index % stores.length];
        await store?.set(first, text);
        return store?.get(first);
      });
      for (const read of await Promise.all(reads)) expect(texts).toContain(read);
    });

    if (!isShared) return;
    it("are worked on by one at a time, others meanwhile, and given back by what fails", async () => {
      await using place = await make();
      const [one, other] = [place.open(), place.open()];
      if (one.exclusive === undefined || other.exclusive === undefined) throw new Error("no way to be alone");
      let [inside, most] = [0, 0];
      const work = async (): Promise<void> => {
        most = Math.max(most, ++inside);
        await one.set(first, "1");
        inside--;
      };
      await Promise.all([one, other, one, other].map((store) => store.exclusive?.(first, work)));
      expect(most).toBe(1);
      const nested = one.exclusive(first, () => other.exclusive?.(second, async () => "both") ?? Promise.resolve(""));
      expect(await nested).toBe("both");
      await expect(one.exclusive(first, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
      expect(await other.exclusive(first, async () => "free")).toBe("free");
    });
  });
}
