/// <reference path="../index.ts" preserve="true" />
export { type ConfigSource, findConfigFiles, type LoadConfigOptions, loadConfig } from "./node/load-config.ts";
export { type ConfigEvent, type WatchConfigOptions, watchConfig } from "./node/watch-config.ts";
export type * from "./web.ts";
export {
  configFromObject,
  diffConfig,
  editConfig,
  explainConfig,
  formatConfigExplanation,
  formatConfigProblem,
  formatLocation,
  parseConfig,
  parseConfigObject,
  resolveConfig,
} from "./web.ts";
