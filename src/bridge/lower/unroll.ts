import type { Notes } from "./notes.ts";
import type {
  AdditionalProperties,
  ArrayOption,
  Choice,
  ObjectOption,
  Option,
  Outline,
  Property,
  Shape,
} from "./shape.ts";

/** How often a shape may be inside of itself. */
const maxRounds = 2;

/** More shapes than this are not written out in place of references. */
const maxShapes = 500;

/** The arguments with every reference replaced by what it leads to. Where that would not end, only types are left. */
export function unroll({ root, definitions }: Outline, notes: Notes): ObjectOption {
  let written = 0;

  const shape = (one: Shape, rounds: Rounds): Shape => {
    if (one.kind === "anything") return one;
    if (rounds.size > 0 && ++written > maxShapes) return open(one, notes, "left open: the schema is too large");
    return choice(one, rounds);
  };
  const choice = (one: Choice, rounds: Rounds): Shape => {
    const parts = one.options.map((option) =>
      option.kind === "reference" ? follow(option.name, one, rounds) : inner(option, rounds),
    );
    const free = parts.find((part) => part.kind === "anything");
    if (free !== undefined) return { ...free, ...about(one, free) };
    const choices = parts.flatMap((part) => (part.kind === "choice" ? [part] : []));
    const [only] = choices;
    return {
      ...one,
      ...(only !== undefined && choices.length === 1 && about(one, only)),
      options: choices.flatMap(({ options }) => options),
      nullable: one.nullable || choices.some(({ nullable }) => nullable),
    };
  };
  const follow = (name: string, from: Choice, rounds: Rounds): Shape => {
    const round = (rounds.get(name) ?? 0) + 1;
    const target = definitions.get(name);
    if (target === undefined) return open(from, notes, "left open: it leads nowhere");
    if (round > maxRounds) {
      notes.add(from.at, "$ref", `said only by its type: it is inside of itself more than ${maxRounds} times`);
      return shallow(target);
    }
    return shape(target, new Map([...rounds, [name, round]]));
  };
  const inner = (option: Exclude<Option, { kind: "reference" }>, rounds: Rounds): Choice => {
    const whole = { kind: "choice", at: option.at, hints: [], nullable: false } as const;
    if (option.kind === "array") return { ...whole, options: [array(option, rounds)] };
    return { ...whole, options: [option.kind === "object" ? object(option, rounds) : option] };
  };
  const array = (option: ArrayOption, rounds: Rounds): ArrayOption => ({
    ...option,
    prefix: option.prefix.map((one) => shape(one, rounds)),
    items: option.items && shape(option.items, rounds),
  });
  const object = (option: ObjectOption, rounds: Rounds): ObjectOption => ({
    ...option,
    properties: new Map(
      [...option.properties].map(([key, { shape: one, required }]): readonly [string, Property] => [
        key,
        { shape: shape(one, rounds), required },
      ]),
    ),
    further: further(option.further, rounds),
  });
  const further = (one: AdditionalProperties, rounds: Rounds): AdditionalProperties =>
    typeof one === "string" ? one : shape(one, rounds);

  return object(root, new Map());
}

/** How often each reference was followed on the way. */
type Rounds = ReadonlyMap<string, number>;

function open({ at, description, hints }: Choice, notes: Notes, message: string): Shape {
  notes.add(at, "$ref", message);
  return { kind: "anything", at, hints, ...(description !== undefined && { description }) };
}

/** An object whose properties are said only by their types. */
export function shallowly(root: ObjectOption): ObjectOption {
  const properties = [...root.properties].map(([key, { shape, required }]): readonly [string, Property] => [
    key,
    { shape: shallow(shape), required },
  ]);
  return {
    ...root,
    properties: new Map(properties),
    further: typeof root.further === "string" ? root.further : "some",
  };
}

/** A shape without what is inside of it. */
function shallow(shape: Shape): Shape {
  const anything: Shape = { kind: "anything", at: shape.at, hints: [] };
  if (shape.kind === "anything" || shape.options.some(({ kind }) => kind === "reference")) return anything;
  const options = shape.options.map((option): Option => {
    if (option.kind === "array") return { ...option, prefix: [], items: anything };
    return option.kind === "object" ? { ...option, properties: new Map(), further: "some", undeclared: [] } : option;
  });
  return { ...shape, options };
}

/** What is said where a shape is used goes before what is said where it is defined. */
function about(used: Shape, defined: Shape): Pick<Shape, "hints"> & { readonly description?: string } {
  const description = used.description ?? defined.description;
  return { ...(description !== undefined && { description }), hints: [...used.hints, ...defined.hints] };
}
