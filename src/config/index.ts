/// <reference path="../index.ts" preserve="true" />
export { type ConfigSource, findConfigs, type LoadConfigOptions, loadConfig } from "./node/load-config.ts";
export { type ConfigEvent, type WatchConfigOptions, watchConfig } from "./node/watch-config.ts";
export type * from "./web.ts";
export {
  configOf,
  diffConfig,
  editConfig,
  explainConfig,
  formatExplanation,
  formatPlace,
  formatProblem,
  parseConfig,
  parseObject,
  resolveConfig,
} from "./web.ts";
