import type { ObjectOption, Option, Outline, Shape } from "./shape.ts";

/** Why arguments cannot be told strictly, and where. */
export interface Obstacle {
  readonly at: string;
  readonly keyword: string;
  readonly message: string;
}

/** What strict mode allows for one tool, with some room below what the documentation says. */
const limits = { depth: 10, properties: 5000, values: 1000, characters: 100_000 };

/**
 * The first thing in the way of strict mode, in which every object has exactly the
 * declared properties. An object that does not say whether there are others counts
 * as one without; one that says there are, or that declares none at all, does not fit.
 */
export function strictObstacle({ root, definitions }: Outline): Obstacle | undefined {
  const size: Size = { properties: 0, values: 0, characters: 0 };
  const starts: readonly (() => Obstacle | undefined)[] = [
    () => (root.properties.size === 0 && root.further === "unsaid" ? undefined : inObject(root, 1, size)),
    ...[...definitions.values()].map((shape) => () => inShape(shape, 1, size)),
    () => tooLarge(size),
  ];
  return firstOf(starts, (start) => start());
}

interface Size {
  properties: number;
  values: number;
  characters: number;
}

function inShape(shape: Shape, depth: number, size: Size): Obstacle | undefined {
  const { at } = shape;
  if (shape.kind === "anything") return { at, keyword: "type", message: "it can be anything" };
  if (depth > limits.depth)
    return { at, keyword: "properties", message: `it is nested deeper than ${limits.depth} levels` };
  return firstOf(shape.options, (option) => inOption(option, depth, size));
}

function inOption(option: Option, depth: number, size: Size): Obstacle | undefined {
  switch (option.kind) {
    case "object":
      return inObject(option, depth, size);
    case "array":
      return firstOf([...option.prefix, ...(option.items ? [option.items] : [])], (item) =>
        inShape(item, depth + 1, size),
      );
    case "reference":
      return undefined;
    default:
      size.values += option.values?.length ?? 0;
      size.characters += option.values?.join("").length ?? 0;
      return undefined;
  }
}

function inObject(
  { at, properties, further, undeclared }: ObjectOption,
  depth: number,
  size: Size,
): Obstacle | undefined {
  const [key] = undeclared;
  if (key !== undefined) return { at, keyword: "required", message: `nothing says what ${JSON.stringify(key)} is` };
  if (further !== "none" && further !== "unsaid") {
    return { at, keyword: "additionalProperties", message: "it can have properties that are not declared" };
  }
  if (properties.size === 0 && further === "unsaid") {
    return { at, keyword: "properties", message: "it declares no properties, so it can have any" };
  }
  size.properties += properties.size;
  size.characters += [...properties.keys()].join("").length;
  return firstOf(properties.values(), ({ shape }) => inShape(shape, depth + 1, size));
}

function tooLarge({ properties, values, characters }: Size): Obstacle | undefined {
  if (properties <= limits.properties && values <= limits.values && characters <= limits.characters) return undefined;
  return { at: "", keyword: "properties", message: "it has too many properties or values" };
}

function firstOf<T>(items: Iterable<T>, look: (item: T) => Obstacle | undefined): Obstacle | undefined {
  for (const item of items) {
    const obstacle = look(item);
    if (obstacle !== undefined) return obstacle;
  }
  return undefined;
}
