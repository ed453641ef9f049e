import { setTimeout as pause } from "node:timers/promises";
import type { Server } from "../../../src/server/index.ts";
import { createServer, tool } from "./built.ts";

/** A server whose tool runs as a task only. */
export const jobs: Server = createServer({
  name: "jobs",
  version: "1.0.0",
  tools: {
    job: tool({
      input: { type: "object", properties: { ms: { type: "number" } } } as const,
      task: "required",
      run: async ({ ms }) => {
        await pause(ms ?? 0);
        return "the job is done";
      },
    }),
  },
});
