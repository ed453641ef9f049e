/** A target as it was typed: a text, or a command line. */
export interface TypedTarget {
  readonly text: string;
  readonly command?: readonly string[];
}
