import type { Result } from "../protocol/methods.ts";
import type { Call, Outcome } from "../protocol/service.ts";
import { badDefinition, kit } from "./definition.ts";
import type { Environment } from "./environment.ts";
import { type PromptDefinition, type ReadyPrompt, unknownPrompt } from "./prompt.ts";
import { createRegistry, type Registry } from "./registry.ts";

/** The prompts of a server. What serves them comes with their definitions. */
export interface PromptBook extends Registry<ReadyPrompt, Result<"prompts/list">> {
  define(name: string, definition: PromptDefinition): void;
  call(call: Call<"prompts/get">): Outcome<"prompts/get"> | Promise<Outcome<"prompts/get">>;
}

export function createPromptBook(env: Environment, onChange: () => void): PromptBook {
  const registry = createRegistry<ReadyPrompt, Result<"prompts/list">>({
    noun: "prompt",
    member: "prompts",
    env,
    onChange,
  });

  return {
    ...registry,
    define(name, definition) {
      if (definition?.[kit] === undefined) throw badDefinition(`prompt ${name}`, "it must be made by prompt()");
      registry.add(name, definition[kit].ready(name, definition, env));
    },
    call(call) {
      const { name } = call.params;
      const ready = registry.get(name);
      if (ready === undefined) return unknownPrompt(name);
      return ready.definition[kit].call(call, ready, env);
    },
  };
}
