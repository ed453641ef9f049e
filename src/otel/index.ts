/// <reference path="../index.ts" preserve="true" />
export type { Telemetry } from "../protocol/telemetry.ts";
export { type OtelOptions, otel } from "./otel.ts";
