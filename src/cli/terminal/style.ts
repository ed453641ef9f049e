/** Texts in colour, or as they are. */
export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
}

/** Colours where they are wanted, else texts as they are. */
export function createStyle(isWanted: boolean): Style {
  const by =
    (open: number, close: number) =>
    (text: string): string =>
      isWanted && text !== "" ? `\u001b[${open}m${text}\u001b[${close}m` : text;
  return { bold: by(1, 22), dim: by(2, 22), red: by(31, 39), green: by(32, 39), yellow: by(33, 39), cyan: by(36, 39) };
}

interface ColourFacts {
  readonly isTerminal: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `--no-color`. */
  readonly off: boolean;
}

/** Whether a stream gets colours: a terminal does, unless `--no-color`, `NO_COLOR` or `TERM=dumb` says no. `FORCE_COLOR` says yes. */
export function wantsColour({ isTerminal, env, off }: ColourFacts): boolean {
  if (off || (env.NO_COLOR ?? "") !== "") return false;
  if ((env.FORCE_COLOR ?? "") !== "" && env.FORCE_COLOR !== "0") return true;
  return isTerminal && env.TERM !== "dumb";
}
