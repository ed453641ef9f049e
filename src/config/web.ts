/// <reference path="../index.ts" preserve="true" />
export type { DialectName } from "./dialects.ts";
export { editConfig } from "./edit-config.ts";
export type { ConfigEnvironment, WellKnownConfig } from "./environment.ts";
export {
  type ConfigDiff,
  type ConfigExplanation,
  diffConfig,
  explainConfig,
  formatConfigExplanation,
  type ServerExplanation,
} from "./explain-config.ts";
export type { ConfigInput, InputOption } from "./inputs.ts";
export { type ParseConfigOptions, type ParsedConfig, parseConfig, type RawServer } from "./parse-config.ts";
export { type ConfigProblem, formatConfigProblem, formatLocation, type SourceLocation } from "./problem.ts";
export { type Config, type ConfigFile, configFromObject, parseConfigObject, resolveConfig } from "./resolve-config.ts";
export type {
  CommandTarget,
  ConfigEdit,
  FieldOrigin,
  IgnoredField,
  ModuleTarget,
  OAuthSettings,
  OpenApiTarget,
  ServerEntry,
  ServerOrigin,
  ToolFilter as ConfigToolFilter,
  UrlTarget,
} from "./server-entry.ts";
export type { ArrayNode, ConfigNode, Member as ConfigMember, ObjectNode } from "./tree.ts";
