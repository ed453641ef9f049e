import { stripVTControlCharacters } from "node:util";
import type { JsonObject } from "../../json/json.ts";
import { lastChars } from "./text-tail.ts";

/** How the life of a child ended. */
export type ExitReport =
  | {
      readonly kind: "exited";
      readonly exitCode: number | null;
      /** The signal that killed it. */
      readonly signal: string | null;
      /** The last lines it wrote to stderr. */
      readonly stderr: string;
    }
  | { readonly kind: "not-started"; readonly reason: string };

export interface ExitContext {
  /** The command, as it may be shown. */
  readonly command: string;
  /** Whether the child ever sent a message. */
  readonly answered: boolean;
}

/** What to tell whoever waits for an answer of a child that is gone. */
export function describeExit(report: ExitReport, { command, answered }: ExitContext): ExitDescription {
  if (report.kind === "not-started") return { message: `cannot start "${command}": ${report.reason}` };
  const { exitCode, signal, stderr } = report;
  const how = signal === null ? `exited with code ${exitCode}` : `was killed by ${signal}`;
  const said = lastChars(printable(stderr), maxMessageChars);
  return {
    message: `server "${command}" ${how}${answered ? "" : " before answering"}${said && `; stderr: ${said}`}`,
    data: { exitCode, signal, stderr },
  };
}

export interface ExitDescription {
  readonly message: string;
  readonly data?: JsonObject;
}

const maxMessageChars = 1024;

/** Text that cannot move the cursor of whoever prints it. */
function printable(text: string): string {
  return stripVTControlCharacters(text)
    .replace(/[^\P{Cc}\n\t]/gu, "")
    .trim();
}
