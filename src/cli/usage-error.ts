/** Something that was typed wrongly. Its exit code is 2, and its code in JSON is `usage`. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  /** What to do, as a sentence that can be followed. Default: what shows the help. */
  readonly hint: string | undefined;
  /** A name that is not known, and those that are: what comes near is told. */
  readonly unknown: UnknownName | undefined;

  constructor(message: string, hint?: string, unknown?: UnknownName) {
    super(message);
    this.hint = hint;
    this.unknown = unknown;
  }
}

interface UnknownName {
  readonly name: string;
  readonly known: readonly string[];
}
