import type { Json, JsonObject } from "../json/json.ts";
import { type ParameterStyle, styleOf } from "./encode-parameter.ts";
import { chooseMedia, type Media } from "./media.ts";
import type { Operation, Parameter } from "./operation.ts";
import { type Documents, followed, type Located, member, members, OperationProblem, objectAt } from "./references.ts";
import { createSchemaWriter, type SchemaWriter, type SchemaWriterOptions } from "./schema-writer.ts";

/** What a tool takes, and where each argument goes. */
export interface OperationInput {
  readonly schema: JsonObject;
  readonly parameters: readonly ParameterArgument[];
  readonly body: BodyArgument | undefined;
}

export interface ParameterArgument extends Parameter, ParameterStyle {
  /** The name among the arguments. Another than that of the parameter where that was taken, or is none for a model. */
  readonly argument: string;
}

export interface BodyArgument extends Media {
  readonly argument: string;
  /** Names of the members that are sent as bytes. They come in base64. */
  readonly binaryMembers: ReadonlySet<string>;
}

export interface InputOptions {
  readonly documents: Documents;
  readonly isOld: boolean;
  /** Whether a parameter is not up to the caller: credentials, and what the request has anyway. */
  isReserved(parameter: Parameter): boolean;
  /** Counts schemas, as {@link SchemaWriterOptions.take} does. */
  readonly take: SchemaWriterOptions["take"];
}

/** Joins parameters and body to one object of arguments. Throws `OperationProblem` when a part cannot be used. */
export function readInput(operation: Operation, { documents, isOld, isReserved, take }: InputOptions): OperationInput {
  const writer = createSchemaWriter({ documents, isOld, direction: "input", ...(take && { take }) });
  const names = createNames();
  const order = ["path", "query", "header", "cookie"];
  const parameters = operation.parameters
    .filter((parameter) => !isReserved(parameter))
    .toSorted((a, b) => order.indexOf(a.place) - order.indexOf(b.place))
    .map((parameter) => toArgument(parameter, names));
  const media = operation.body && chooseMedia(operation.body, documents);
  const body = media && toBody(media, names, documents);
  const properties = [
    ...parameters.map((argument) => [argument.argument, parameterSchema(argument, writer, documents)] as const),
    ...(body === undefined ? [] : [[body.argument, bodySchema(body, operation.body, writer)] as const]),
  ];
  const required = [
    ...parameters.filter(({ isRequired }) => isRequired).map(({ argument }) => argument),
    ...(body !== undefined && operation.body !== undefined && objectAt(operation.body).required === true
      ? [body.argument]
      : []),
  ];
  const definitions = writer.definitions();
  const schema: JsonObject = {
    type: "object",
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
    ...(definitions !== undefined && { $defs: definitions }),
  };
  return { schema, parameters, body };
}

/** Gives each argument a name of its own. */
type Names = (wanted: string, suffix: string) => string;

function createNames(): Names {
  const taken = new Set<string>();
  return (wanted, suffix) => {
    const plain =
      wanted
        .slice(0, 200)
        .replaceAll(/[^A-Za-z0-9_.-]+/g, "_")
        .replaceAll(/^_+|_+$/g, "")
        .slice(0, 50) || suffix;
    let name = taken.has(plain) ? `${plain}_${suffix}` : plain;
    for (let number = 2; taken.has(name); number++) name = `${plain}_${suffix}${number}`;
    taken.add(name);
    return name;
  };
}

function toArgument(parameter: Parameter, names: Names): ParameterArgument {
  const style = styleOf(parameter.source, parameter.place);
  const known = styles[parameter.place];
  if (!style.isJson && !known.includes(style.style)) {
    throw new OperationProblem(
      `its ${parameter.place} parameter ${parameter.name} has the style ${style.style}, which only ${known.join(", ")} may be`,
    );
  }
  if (parameter.place !== "path" && parameter.place !== "query" && !/^[\w!#$%&'*+.^`|~-]+$/.test(parameter.name)) {
    throw new OperationProblem(
      `its ${parameter.place} parameter ${JSON.stringify(parameter.name)} has a name that cannot be sent`,
    );
  }
  return { ...parameter, ...style, argument: names(parameter.name, parameter.place) };
}

const styles: Readonly<Record<Parameter["place"], readonly string[]>> = {
  path: ["simple", "label", "matrix"],
  query: ["form", "spaceDelimited", "pipeDelimited", "deepObject"],
  header: ["simple"],
  cookie: ["form"],
};

function toBody(media: Media, names: Names, documents: Documents): BodyArgument {
  const schema = media.schema && followed(media.schema, documents);
  const properties = schema === undefined || media.kind !== "multipart" ? [] : members(member(schema, "properties"));
  const binary = properties.filter(([, at]) => isBinary(itemOf(followed(at, documents), documents)));
  return { ...media, argument: names("body", "content"), binaryMembers: new Set(binary.map(([name]) => name)) };
}

function itemOf(schema: Located, documents: Documents): Located {
  return objectAt(schema).type === "array" ? followed(member(schema, "items"), documents) : schema;
}

function isBinary(schema: Located): boolean {
  const { format, contentMediaType, contentEncoding } = objectAt(schema);
  return format === "binary" || (contentMediaType !== undefined && contentEncoding === undefined);
}

function parameterSchema(argument: ParameterArgument, writer: SchemaWriter, documents: Documents): JsonObject {
  const { source, name, place } = argument;
  const schema = argument.isJson ? chooseMedia(source, documents)?.schema : member(source, "schema");
  const written = schema?.value === undefined ? {} : writer.write(schema);
  const { description = written.description } = objectAt(source);
  const note = argument.argument === name ? "" : `The ${place} parameter ${name}.`;
  return withDescription(written, description, note);
}

function bodySchema(
  { kind, type, schema, argument, binaryMembers }: BodyArgument,
  body: Located | undefined,
  writer: SchemaWriter,
): JsonObject {
  const { description } = body === undefined ? {} : objectAt(body);
  const note = [argument === "body" ? "" : "The body of the request.", kind === "json" ? "" : `Sent as ${type}.`]
    .join(" ")
    .trim();
  if (kind === "text") return withDescription({ type: "string" }, description, note);
  if (kind === "binary")
    return withDescription({ type: "string", contentEncoding: "base64" }, description, `${note} In base64.`);
  const written = schema === undefined ? {} : writer.write(schema);
  const object: JsonObject = kind === "json" ? written : { ...written, type: "object" };
  const { properties } = object;
  if (binaryMembers.size === 0 || typeof properties !== "object")
    return withDescription(object, description ?? written.description, note);
  const noted = `${note} In base64: ${[...binaryMembers].join(", ")}.`;
  return withDescription(object, description ?? written.description, noted);
}

function withDescription(schema: JsonObject, description: Json | undefined, note: string): JsonObject {
  const text = [typeof description === "string" ? description.trim() : "", note]
    .filter((part) => part !== "")
    .join(" ");
  return text === "" ? schema : { ...schema, description: text };
}
