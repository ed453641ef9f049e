/** A protection, the edit that takes it away, and a test that fails without it. */
export interface Protection {
  readonly name: string;
  /** Rows of docs/security.md, or promises of docs/contracts.md. */
  readonly ids: readonly string[];
  readonly file: string;
  readonly from: string;
  readonly to: string;
  readonly test: string;
  /** Words in the titles of the tests to run. Default: the whole file. */
  readonly only?: string;
  /** True when the test uses the built package: then it is built without the protection. Default: false. */
  readonly built?: boolean;
}

export declare const protections: readonly Protection[];
