/// <reference path="../index.ts" preserve="true" />

export type { ToolCaller } from "./meta-tools.ts";
export { type SelectionPolicy, selectTools, type ToolSelection } from "./select-tools.ts";
export { type CatalogTool, type SourceTool, sortTools, toCatalogTools, toFullName } from "./sort-tools.ts";
export { estimateTokens, measureTools, type ServerToolCosts, type ToolCost, type ToolCosts } from "./tokens.ts";
export { createToolIndex, type SearchOptions, type ToolHit, type ToolIndex } from "./tool-index.ts";
