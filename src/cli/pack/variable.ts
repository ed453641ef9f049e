import { isSecretOption } from "../../std/secret-names.ts";
import { UsageError } from "../usage-error.ts";

/** A variable of the environment that a server reads. */
export interface Variable {
  readonly name: string;
  readonly isRequired: boolean;
  readonly isSecret: boolean;
}

/** Reads `--env NAME`, or `--env NAME?` for one that may be missing. */
export function readVariables(texts: readonly string[]): readonly Variable[] {
  return texts.map((text) => {
    const [, name, optional] = /^([A-Za-z_]\w*)(\?)?$/.exec(text) ?? [];
    if (name === undefined) {
      throw new UsageError(
        "--env takes the name of a variable and no value",
        "write --env API_KEY, or --env 'REGION?'",
      );
    }
    return { name, isRequired: optional === undefined, isSecret: isSecretOption(name) };
  });
}
