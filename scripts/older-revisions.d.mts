export interface OlderCode {
  readonly file: string;
  /** How many lines serve only revisions before 2026-07-28. */
  readonly lines: number | "all";
  /** Why they are outside of `src/legacy`. */
  readonly why: string;
}

export declare const outsideLegacy: readonly OlderCode[];
