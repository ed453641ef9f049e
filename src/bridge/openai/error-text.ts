import type { ToolResultContent } from "../../model/input.ts";

/** The text of a result. Neither API has another way to say that a call has failed. */
export function errorText(text: string, { isError }: ToolResultContent): string {
  return isError === true ? `Error: ${text}` : text;
}
