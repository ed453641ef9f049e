/** Work that one check may still do, in steps of about a nanosecond. */
export interface Fuel {
  /** Starts a new check. Following a reference takes `perReference` steps from now on. */
  fill(perReference: number): void;
  /** Takes the steps for one reference. Throws {@link OutOfFuel} if there are not enough. */
  reference(): undefined;
  /** Takes a number of steps. Throws {@link OutOfFuel} if there are not enough. */
  burn(steps: number): undefined;
}

/** Thrown from inside of a check, and caught where it started. */
export class OutOfFuel extends Error {}

/** Under a tenth of a second. */
export const maxSteps: number = 2 ** 26;

export function createFuel(): Fuel {
  let left = maxSteps;
  let perReference = 0;

  const burn = (steps: number): undefined => {
    left -= steps;
    if (left < 0) throw new OutOfFuel();
  };

  return {
    fill(steps) {
      left = maxSteps;
      perReference = steps;
    },
    reference: () => burn(perReference),
    burn,
  };
}
