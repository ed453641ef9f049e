/** Work that one check may still do, in steps of about a nanosecond. */
export interface Fuel {
  /** Starts a new check, in which following a reference takes so many steps. */
  fill(perReference: number): void;
  /** Pays for following a reference. Throws {@link OutOfFuel}. */
  reference(): void;
  /** Pays for a number of steps. Throws {@link OutOfFuel}. */
  burn(steps: number): void;
}

/** Thrown from the depth of a check, and caught where it was started. */
export class OutOfFuel extends Error {}

/** Some tens of milliseconds. */
export const maxSteps: number = 2 ** 25;

export function createFuel(): Fuel {
  let left = 0;
  let price = 0;
  const burn = (steps: number): void => {
    left -= steps;
    if (left < 0) throw new OutOfFuel();
  };
  return {
    fill(perReference) {
      left = maxSteps;
      price = perReference;
    },
    reference: () => burn(price),
    burn,
  };
}
