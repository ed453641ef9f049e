import { maskArgs, maskText } from "../../std/secrets.ts";
import type { TypedTarget } from "../target/typed-target.ts";

/** A line with another command for the same target, without what looks like a secret: what to type next. */
export function lineFor(target: TypedTarget | undefined, command: string, ...args: readonly string[]): string {
  const words = ["plugbay", command];
  if (target === undefined) return [...words, "<target>", ...args].join(" ");
  if (target.command === undefined) return [...words, maskText(target.text), ...args].join(" ");
  return [...words, ...args, "--", ...maskArgs(target.command)].join(" ");
}
