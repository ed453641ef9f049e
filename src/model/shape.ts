/** What one tool takes and gives, for typed callers. Exists only in types. */
export interface ToolShape {
  readonly input: unknown;
  readonly output: unknown;
}

export type ToolShapes = Readonly<Record<string, ToolShape>>;

/** Carries the shapes of a server's tools in its type. */
export interface Shaped<T extends ToolShapes = ToolShapes> {
  /** Never present at run time. */
  readonly "~tools"?: T;
}

/** The shapes a type carries; any tool with any arguments when it carries none. */
export type ShapesOf<S> = S extends Shaped<infer T> ? T : ToolShapes;
