import type { JsonObject } from "../json/json.ts";
import type { Annotations, Icon } from "./content.ts";

interface Described {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly icons?: readonly Icon[];
  readonly annotations?: Annotations;
  readonly _meta?: JsonObject;
}

export interface Resource extends Described {
  readonly uri: string;
  /** In bytes, before any encoding. */
  readonly size?: number;
}

export interface ResourceTemplate extends Described {
  /** RFC 6570. */
  readonly uriTemplate: string;
}

export interface TextResourceContents {
  readonly uri: string;
  readonly mimeType?: string;
  readonly text: string;
  readonly _meta?: JsonObject;
}

export interface BlobResourceContents {
  readonly uri: string;
  readonly mimeType?: string;
  /** Base64. */
  readonly blob: string;
  readonly _meta?: JsonObject;
}

export type ResourceContents = TextResourceContents | BlobResourceContents;
