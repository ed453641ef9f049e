/// <reference path="../index.ts" preserve="true" />
export type { ServerProgram, ServerSurface } from "../lock/lock.ts";
export { McpError } from "../protocol/errors.ts";
export type { ConnectionState, Failures } from "./connection-state.ts";
export { type ConfigObject, type OpenHostOptions, openHost } from "./node/open-host.ts";
export type { AuthFor, AuthRequest } from "./spec.ts";
export type * from "./web.ts";
