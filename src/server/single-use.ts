/** Remembers what was used, so that nothing is used twice in this process. */
export interface SingleUse {
  /** False when it was used before. What has expired need not be remembered. */
  take(id: string, expires: number): boolean;
  /** It was not used after all. */
  giveBack(id: string): void;
}

export interface SingleUseOptions {
  now(): number;
  /** How many to remember; the oldest are forgotten first. */
  readonly max: number;
}

export function createSingleUse({ now, max }: SingleUseOptions): SingleUse {
  const used = new Map<string, number>();

  const forget = (): void => {
    const time = now();
    for (const [id, expires] of used) {
      if (expires > time && used.size < max) return;
      used.delete(id);
    }
  };

  return {
    take(id, expires) {
      if (used.has(id)) return false;
      forget();
      used.set(id, expires);
      return true;
    },
    giveBack: (id) => void used.delete(id),
  };
}
