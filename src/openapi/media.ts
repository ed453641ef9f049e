import { type Documents, followed, type Located, member, members } from "./references.ts";

/** What kind of body a media type is. */
export type BodyKind = "json" | "form" | "multipart" | "text" | "binary";

/** One media type of a body or response, and its schema. */
export interface Media {
  /** Without parameters, in small letters. */
  readonly type: string;
  readonly kind: BodyKind;
  readonly schema: Located | undefined;
  /** How members of a form are written. */
  readonly encoding: Located;
}

/** The media type that is used of those that `content` has: JSON, then forms, then text, then bytes. */
export function chooseMedia(owner: Located, documents: Documents): Media | undefined {
  const all = members(member(owner, "content")).map(([name, at]): Media => {
    const type = mediaTypeOf(name);
    const source = followed(at, documents);
    const schema = member(source, "schema");
    return {
      type,
      kind: kindOf(type),
      schema: schema.value === undefined ? undefined : schema,
      encoding: member(source, "encoding"),
    };
  });
  return order.flatMap((kind) => all.filter((media) => media.kind === kind))[0];
}

const order: readonly BodyKind[] = ["json", "form", "multipart", "text", "binary"];

/** A media type without its parameters. */
export function mediaTypeOf(contentType: string): string {
  return (contentType.split(";", 1)[0] ?? "").trim().toLowerCase();
}

export function isJsonType(type: string): boolean {
  return type === "application/json" || type === "text/json" || type.endsWith("+json");
}

/** Whether a body of the type is text for people and models. */
export function isTextType(type: string): boolean {
  return type.startsWith("text/") || type.endsWith("+xml") || type.endsWith("+yaml") || textTypes.has(type);
}

const textTypes: ReadonlySet<string> = new Set([
  ...["application/xml", "application/yaml", "application/x-yaml", "application/javascript", "application/graphql"],
  ...["application/x-www-form-urlencoded", "application/x-ndjson", "application/jsonl", "application/sql"],
]);

function kindOf(type: string): BodyKind {
  if (isJsonType(type) || type === "*/*" || type === "application/*") return "json";
  if (type === "application/x-www-form-urlencoded") return "form";
  if (type === "multipart/form-data") return "multipart";
  return isTextType(type) ? "text" : "binary";
}
