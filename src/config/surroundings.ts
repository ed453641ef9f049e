import type { ConfigInput } from "./input.ts";

/** Where the values of variables come from. All of it is given: nothing is looked up behind the back of a host. */
export interface Surroundings {
  /** Environment variables, such as `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Values of `${input:id}` by id, for those that are known. */
  readonly inputs?: Readonly<Record<string, string>>;
  /** Asks for an input that is not known; once for each, one after the other. Without an answer the default counts. */
  readonly onInput?: (input: ConfigInput) => string | undefined | Promise<string | undefined>;
  /** The folder of the project. Default: the one that the file is for. */
  readonly workspaceFolder?: string;
  readonly userHome?: string;
  /** Default: `/`. */
  readonly pathSeparator?: string;
  /** Reads an env file, or a file that a variable names. Undefined when there is none. */
  readonly readText?: (path: string) => Promise<string | undefined>;
  /** A variable without a value stays in the text, and is a warning instead of an error. */
  readonly lenient?: boolean;
}
