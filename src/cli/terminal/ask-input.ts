import type { ConfigInput } from "../../config/inputs.ts";
import type { CommandContext } from "../command.ts";
import { oneLine } from "./printable.ts";
import { openQuestions } from "./questions.ts";

/** Asks for a value that a configuration file needs, such as a key. Undefined for one that cannot be asked for. */
export async function askInput(input: ConfigInput, context: CommandContext): Promise<string | undefined> {
  if (input.type === "command") return undefined;
  const questions = await openQuestions(context);
  const message = oneLine(input.description ?? input.id);
  if (input.options !== undefined && input.options.length > 0) {
    return questions.choose(
      message,
      input.options.map(({ value, label }) => ({ value, label: oneLine(label) })),
      input.default,
    );
  }
  return input.password ? questions.secret(message) : questions.text({ message, initial: input.default });
}
