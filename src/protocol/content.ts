import type { JsonObject } from "../json/json.ts";

/** Hints for programs that show or use a piece of content. */
export interface Annotations {
  readonly audience?: readonly Role[];
  /** From 0, optional, to 1, required. */
  readonly priority?: number;
  /** ISO 8601. */
  readonly lastModified?: string;
}

export type Role = "user" | "assistant";

/** True for a role of the protocol. Instructions for a model are not a message in it. */
export function isRole(role: unknown): role is Role {
  return role === "user" || role === "assistant";
}

/** A picture for a name. `src` is an https or data URI. */
export interface Icon {
  readonly src: string;
  readonly mimeType?: string;
  /** Like `48x48`, or `any`. */
  readonly sizes?: readonly string[];
  readonly theme?: "light" | "dark";
}

interface Block {
  readonly annotations?: Annotations;
  readonly _meta?: JsonObject;
}

export interface TextContent extends Block {
  readonly type: "text";
  readonly text: string;
}

export interface ImageContent extends Block {
  readonly type: "image";
  /** Base64. */
  readonly data: string;
  readonly mimeType: string;
}

export interface AudioContent extends Block {
  readonly type: "audio";
  /** Base64. */
  readonly data: string;
  readonly mimeType: string;
}

/** A resource carried in the content itself. */
export interface EmbeddedResource extends Block {
  readonly type: "resource";
  readonly resource: ResourceContents;
}

/** A pointer to a resource that the client may read. */
export interface ResourceLink extends Block {
  readonly type: "resource_link";
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly size?: number;
  readonly icons?: readonly Icon[];
}

/** One block of what a tool or prompt produced. */
export type Content = TextContent | ImageContent | AudioContent | EmbeddedResource | ResourceLink;

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
