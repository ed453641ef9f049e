import { McpError } from "../model/errors.ts";
import type { Result } from "../model/methods.ts";
import type { Call, Outcome } from "../model/service.ts";
import type { PromptDefinition } from "./define-prompt.ts";
import { badDefinition } from "./description.ts";
import type { Environment } from "./environment.ts";
import { handlerJob } from "./handler-job.ts";
import { kit } from "./kit.ts";
import type { ReadyPrompt } from "./prompt-kit.ts";
import { createRegistry, type Registry } from "./registry.ts";

/** The prompts of a server. */
export interface PromptBook extends Registry<ReadyPrompt, Result<"prompts/list">> {
  define(name: string, definition: PromptDefinition): void;
  call(call: Call<"prompts/get">): Promise<Outcome<"prompts/get">>;
}

export function createPromptBook(env: Environment, onChange: () => void): PromptBook {
  const registry = createRegistry<ReadyPrompt, Result<"prompts/list">>({
    noun: "prompt",
    pageSize: env.pageSize,
    render: (items, next) => Object.freeze({ prompts: items.map((item) => item.listed), ...next, ...env.cache }),
    onChange,
  });

  return {
    ...registry,
    define(name, definition) {
      if (definition?.[kit] === undefined) throw badDefinition(`prompt ${name}`, "it must be made by prompt()");
      registry.add(name, definition[kit].ready(name, definition));
    },
    async call(call) {
      const { name, arguments: given = {} } = call.params;
      const ready = registry.get(name);
      if (ready === undefined) throw new McpError("invalid-params", `unknown prompt ${name}`, { data: { name } });
      const { readArguments, toResult } = ready.definition[kit];
      const args = await readArguments(ready, given);
      const job = handlerJob(env, {
        method: "prompts/get",
        name,
        run: (context) => ready.definition.get(args, context),
        finish: (value) => ({ kind: "complete", result: toResult(value, ready) }),
      });
      return env.runner.run(call, job) as Outcome<"prompts/get">;
    },
  };
}
