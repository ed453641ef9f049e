export type { ServeHandle } from "../serve-channel.ts";
export { type ServeStdioOptions, serveStdio } from "./serve-stdio.ts";
