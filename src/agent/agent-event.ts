import type { Progress } from "../client/call-options.ts";
import type { JsonObject } from "../json/json.ts";
import type { CreateMessageResult } from "../model/input.ts";
import type { CallToolResult } from "../model/tool.ts";

/** What happens while a model works, for whoever shows it. */
export type AgentEvent =
  /** The model is asked, for the first time or with results. */
  | { readonly kind: "turn"; readonly turn: number }
  | { readonly kind: "reply"; readonly turn: number; readonly reply: CreateMessageResult }
  /** A tool is called. `id` is the same in everything that comes of it. */
  | { readonly kind: "call"; readonly id: string; readonly name: string; readonly input: JsonObject }
  | { readonly kind: "progress"; readonly id: string; readonly name: string; readonly progress: Progress }
  | {
      readonly kind: "result";
      readonly id: string;
      readonly name: string;
      readonly result: CallToolResult;
      readonly tookMs: number;
    };
