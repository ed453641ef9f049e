/**
 * A schema in a form that every provider can express: a choice of plain types. Every value that is valid for the schema
 * is valid for its shape; the reverse often does not hold.
 */
export type Shape = Anything | Choice;

export interface Anything extends Described {
  readonly kind: "anything";
}

export interface Choice extends Described {
  readonly kind: "choice";
  /** Empty when only `null` is allowed. */
  readonly options: readonly Option[];
  readonly nullable: boolean;
}

export interface Described {
  /** JSON Pointer to where it comes from. */
  readonly at: string;
  readonly description?: string;
  /** What the shape cannot hold, for the model to read. */
  readonly hints: readonly string[];
}

export type Option = StringOption | NumberOption | BooleanOption | ArrayOption | ObjectOption | ReferenceOption;

export interface StringOption extends Described {
  readonly kind: "string";
  readonly values?: readonly string[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
}

export interface NumberOption extends Described {
  readonly kind: "number" | "integer";
  readonly values?: readonly number[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly multipleOf?: number;
}

export interface BooleanOption extends Described {
  readonly kind: "boolean";
  /** When only one of both is valid. */
  readonly values?: readonly boolean[];
}

export interface ArrayOption extends Described {
  readonly kind: "array";
  /** The first items, each with a shape of its own. */
  readonly prefix: readonly Shape[];
  /** The shape of all further items. Undefined when no further items are allowed. */
  readonly items: Shape | undefined;
  readonly minItems?: number;
  readonly maxItems?: number;
}

export interface ObjectOption extends Described {
  readonly kind: "object";
  readonly properties: ReadonlyMap<string, Property>;
  readonly further: AdditionalProperties;
  /** Required, although nothing says what they are. */
  readonly undeclared: readonly string[];
}

export interface Property {
  readonly shape: Shape;
  readonly required: boolean;
}

/** Undeclared properties: forbidden, unspecified, allowed but without a usable schema, or with a shape. */
export type AdditionalProperties = "none" | "unsaid" | "some" | Shape;

/** A shape that is used in several places, or in itself. */
export interface ReferenceOption extends Described {
  readonly kind: "reference";
  readonly name: string;
}

/** What references lead to. */
export type Definitions = ReadonlyMap<string, Shape>;

/** The arguments of a tool. */
export interface Outline {
  readonly root: ObjectOption;
  /** What the root was made of: itself, or the variants that it has all properties of. */
  readonly variants: readonly ObjectOption[];
  readonly definitions: Definitions;
}

/** One shape for what fits any of the given ones. */
export function unite(shapes: readonly Shape[], at: string): Shape {
  const [only] = shapes;
  if (only !== undefined && shapes.length === 1) return only;
  const choices = shapes.flatMap((shape) => (shape.kind === "choice" ? [shape] : []));
  if (choices.length < shapes.length || shapes.length === 0) return { kind: "anything", at, hints: hintsIn(shapes) };
  return {
    kind: "choice",
    at,
    hints: [],
    options: distinct(choices.flatMap(({ options, description, hints }) => options.map(inherit(description, hints)))),
    nullable: choices.some(({ nullable }) => nullable),
  };
}

function hintsIn(shapes: readonly Shape[]): readonly string[] {
  return shapes.flatMap(({ hints }) => hints);
}

/** What was said about a whole choice, said about an option of it. */
function inherit(description: string | undefined, hints: readonly string[]): (option: Option) => Option {
  return (option) => ({
    ...option,
    ...(option.description === undefined && description !== undefined && { description }),
    hints: [...hints, ...option.hints],
  });
}

/** Leaves out what is said twice, and joins lists of texts: the tags of variants become one list. */
function distinct(options: readonly Option[]): readonly Option[] {
  const lists = options.filter((option) => isList(option));
  const others = options.filter((option) => !isList(option));
  const [first] = lists;
  const values = [...new Set(lists.flatMap((option) => option.values ?? []))];
  const joined: readonly Option[] = first === undefined ? [] : [{ ...first, values }];
  const seen = new Set<string>();
  return [...joined, ...others].filter((option) => {
    const key = keyOf(option);
    return key === undefined || (!seen.has(key) && seen.add(key));
  });
}

function isList(option: Option): option is StringOption & { readonly values: readonly string[] } {
  return option.kind === "string" && option.values !== undefined;
}

/** Equal for options that are equal. Undefined where the comparison would be too expensive. */
function keyOf(option: Option): string | undefined {
  if (option.kind === "object" || option.kind === "array") return undefined;
  const { at: _, hints: __, ...said } = option;
  return JSON.stringify(said);
}

/** True if `null` fits. */
export function isNullable(shape: Shape, definitions: Definitions, seen: ReadonlySet<string> = new Set()): boolean {
  if (shape.kind === "anything" || shape.nullable) return true;
  return shape.options.some((option) => {
    const target = option.kind === "reference" && !seen.has(option.name) ? definitions.get(option.name) : undefined;
    return (
      target !== undefined &&
      option.kind === "reference" &&
      isNullable(target, definitions, new Set([...seen, option.name]))
    );
  });
}
