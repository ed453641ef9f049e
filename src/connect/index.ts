/// <reference path="../index.ts" preserve="true" />
export { McpError } from "../protocol/errors.ts";
export { connect } from "./connect.ts";
export type * from "./web.ts";
