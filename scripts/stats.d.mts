/** Figures of `src`. */
export interface Stats {
  readonly lines: number;
  readonly files: number;
  readonly smallFiles: number;
  readonly filesWithOneImporter: number;
  /** Sets of files that import each other, types included. */
  readonly cycles: readonly (readonly string[])[];
  readonly legacyLines: number;
  readonly legacyLinesOutside: number;
  /** Files that load a part of `src/legacy`. */
  readonly seams: readonly string[];
  readonly seamLines: number;
}

export declare function readStats(): Stats;
