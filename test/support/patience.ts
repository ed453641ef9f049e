import { vi } from "vitest";

/**
 * Resolves when the check passes. How soon does not matter: the code that it
 * waits for may have to be loaded first.
 */
export function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, { timeout: 30_000, interval: 10 });
}

/** The same for those who wait for other processes, and so look less often. */
export const patiently = { timeout: 40_000, interval: 50 };
