import type { Place, Source } from "./place.ts";
import type { Shape } from "./shape.ts";

/** Makes shapes of what is inside of an option. */
export interface OptionMaker extends Source {
  shapeOf(places: readonly Place[]): Shape;
}
