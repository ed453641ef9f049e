/// <reference path="../index.ts" preserve="true" />
export { type GenerateTypesOptions, generateTypes, type ListedServer } from "./generate-types.ts";
