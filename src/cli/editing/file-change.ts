/** A change of one file. Undefined stands for no file. */
export interface FileChange {
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}
