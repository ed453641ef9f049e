/// <reference path="../index.ts" preserve="true" />

export type { ToolCaller } from "./meta-tools.ts";
export { type Disclosure, type DisclosurePolicy, disclose } from "./select-tools.ts";
export { type CatalogTool, fullNameOf, inStableOrder, type SourceTool, toCatalog } from "./sort-tools.ts";
export { type Meter, meter, type ServerMeter, type ToolMeter, tokensIn, tokensOf } from "./tokens.ts";
export { createToolIndex, type Hit, type SearchOptions, type ToolIndex } from "./tool-index.ts";
