/// <reference path="../index.ts" preserve="true" />
export type { Telemetry } from "../protocol/telemetry.ts";
export { createMetrics, type Metrics, type MetricsOptions } from "./metrics.ts";
