/** Which variables of our environment a child may see. */
export interface ChildEnv {
  /** Set for the child, whatever our environment says. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Names of variables to pass on beside the safe ones. */
  readonly inheritEnv?: readonly string[] | undefined;
}

/** A program to start as a server. */
export interface Command extends ChildEnv {
  /** A file, or a name that is looked up in `PATH`. Never a shell line. */
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  readonly cwd?: string | undefined;
  /**
   * Where its stderr goes. `keep` (the default) remembers the end of it for
   * error messages; a function gets all of it as well; `inherit` mixes it into
   * ours and remembers nothing.
   */
  readonly stderr?: "keep" | "inherit" | ((text: string) => void) | undefined;
}
