import { type Command, defineCommand } from "../command.ts";
import { printChange, writeChange } from "../editing/change-file.ts";
import { dryRunOption } from "../editing/edited-file.ts";
import { digestOf, forgetChange, lastChange } from "../editing/undo-record.ts";
import { UsageError } from "../usage-error.ts";
import { readTextIfAny } from "../values/read-text.ts";

export const command: Command = defineCommand({
  name: "undo",
  usage: [""],
  description:
    "Brings the configuration file back that plugbay add, remove or install changed last. A file that was changed by somebody\n" +
    "else since then is left alone.",
  options: dryRunOption,
  examples: [
    { line: "plugbay undo", does: "take the last change back" },
    { line: "plugbay undo --dry-run", does: "show what would change" },
  ],
  async run(context) {
    const { env, options } = context;
    const last = await lastChange(env);
    if (last === undefined)
      throw new UsageError("there is no change to undo", "plugbay add and plugbay install make changes");
    const { path, afterDigest } = last;
    const now = await readTextIfAny(path);
    if (digestOf(now) !== afterDigest) {
      throw new UsageError(
        `${path} was changed since then, and is left alone`,
        "take the server out with: plugbay remove",
      );
    }
    const change = { path, before: now, after: last.before ?? undefined };
    if (!options["dry-run"]) {
      await writeChange(change);
      await forgetChange(env);
    }
    printChange(change, `brought ${path} back`, context, options["dry-run"]);
    return undefined;
  },
});
