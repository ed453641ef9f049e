import type { Readable, Writable } from "node:stream";
import type * as Clack from "@clack/prompts";
import { McpError } from "../../protocol/errors.ts";
import type { CommandContext } from "../command.ts";

/** Questions to whoever sits at the terminal, on stderr, so that stdout stays what the command writes. */
export interface Questions {
  text(question: TextQuestion): Promise<string>;
  /** A text that is not shown. */
  secret(message: string): Promise<string>;
  confirm(message: string, initial?: boolean): Promise<boolean>;
  choose<T extends string>(message: string, choices: readonly Choice<T>[], initial?: T): Promise<T>;
  chooseSome(message: string, choices: readonly Choice<string>[], question: SomeQuestion): Promise<readonly string[]>;
  /** Says something before a question. */
  note(text: string): void;
}

export interface TextQuestion {
  readonly message: string;
  /** What the answer is before anything is typed. */
  readonly initial?: string | undefined;
  readonly placeholder?: string | undefined;
  /** Says what is wrong with an answer, if anything is. */
  readonly check?: ((text: string) => string | undefined) | undefined;
}

export interface SomeQuestion {
  readonly initial: readonly string[];
  readonly required: boolean;
}

export interface Choice<T extends string> {
  readonly value: T;
  readonly label?: string | undefined;
  readonly hint?: string | undefined;
}

/**
 * Opens a terminal for questions. What it asks with is loaded now, and not by commands that ask nobody.
 *
 * Ctrl-C and Escape do what Ctrl-C does everywhere: the command is interrupted, and the question rejects with `cancelled`.
 */
export async function openQuestions(context: CommandContext): Promise<Questions> {
  const clack = await import("@clack/prompts");
  const { stdin, stderr, signal, live, interrupt } = context;
  const common: { input: Readable; output: Writable; signal: AbortSignal } = { input: stdin, output: stderr, signal };

  const ask = async <T>(question: () => Promise<T | typeof clack.CANCEL_SYMBOL>): Promise<T> => {
    const release = live.hold();
    const answer = await question().finally(release);
    if (!isCancel(clack, answer)) return answer;
    if (!signal.aborted) interrupt();
    throw new McpError("cancelled", "the question was left without an answer");
  };

  return {
    text: ({ message, initial, placeholder, check }) =>
      ask(() =>
        clack.text({
          ...common,
          message,
          ...(initial !== undefined && { initialValue: initial }),
          ...(placeholder !== undefined && { placeholder }),
          validate: (text) => check?.(text ?? ""),
        }),
      ).then((text) => text ?? ""),
    secret: (message) => ask(() => clack.password({ ...common, message })),
    confirm: (message, initial = true) => ask(() => clack.confirm({ ...common, message, initialValue: initial })),
    choose: <T extends string>(message: string, choices: readonly Choice<T>[], initial?: T) =>
      ask(() =>
        clack.select<string>({
          ...common,
          message,
          options: choices.map(toOption),
          ...(initial !== undefined && { initialValue: initial }),
        }),
      ).then((value) => value as T),
    chooseSome: (message, choices, { initial, required }) =>
      ask(() =>
        clack.multiselect<string>({
          ...common,
          message,
          options: choices.map(toOption),
          initialValues: [...initial],
          required,
        }),
      ),
    note: (text) => live.write(text),
  };
}

function isCancel<T>(
  clack: typeof Clack,
  answer: T | typeof Clack.CANCEL_SYMBOL,
): answer is typeof Clack.CANCEL_SYMBOL {
  return clack.isCancel(answer);
}

function toOption({ value, label, hint }: Choice<string>) {
  return { value, ...(label !== undefined && { label }), ...(hint !== undefined && { hint }) };
}
