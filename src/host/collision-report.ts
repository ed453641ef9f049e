import type { ServedListOptions } from "./served-tools.ts";
import type { HostEvent } from "./status.ts";

/** Tells of each collision of names in a view once, and again when other things want the name. */
export function createCollisionReport(
  view: string,
  tell: (event: HostEvent) => void,
): ServedListOptions["onCollisions"] {
  const told = { tools: new Map<string, string>(), prompts: new Map<string, string>() };
  return (list, collisions) => {
    const before = told[list];
    told[list] = new Map(collisions.map(({ name, of }) => [name, of.join(" ")]));
    for (const { name, of } of collisions) {
      if (before.get(name) !== told[list].get(name)) tell({ kind: "name-collision", view, list, name, of });
    }
  };
}
