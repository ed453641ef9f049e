import type { Cacheable } from "../model/methods.ts";
import type { Faults } from "./faults.ts";
import type { Runner } from "./runner.ts";

/** What the parts of one server share. */
export interface Environment {
  readonly runner: Runner;
  readonly faults: Faults;
  readonly logging: boolean;
  readonly pageSize: number;
  /** Of handlers that set none. */
  readonly timeoutMs: number;
  /** Of lists, and of resources that set none. */
  readonly cache: Pick<Cacheable, "ttlMs" | "cacheScope">;
  /** How arguments that do not match are answered. */
  readonly inputErrors: "result" | "protocol";
}
