import { framingAttacks } from "./attacks/framing.mjs";
import { memoryAttacks } from "./attacks/memory.mjs";
import { messageAttacks } from "./attacks/messages.mjs";
import { principalAttacks } from "./attacks/principals.mjs";
import { slowAttacks } from "./attacks/slow.mjs";
import { stateAttacks } from "./attacks/states.mjs";
import { stdioAttacks } from "./attacks/stdio.mjs";
import { taskAttacks } from "./attacks/tasks.mjs";
import { webAttacks } from "./attacks/web.mjs";

/**
 * All attacks, in the order in which they run. Each is `{ id, covers, title, needs, run(ctx) }`; `covers` are rows of
 * docs/security.md, `needs` is what the target must have. `over` is how the target is reached.
 */
export const battery = [
  ...group("web", ["http"], webAttacks),
  ...group("framing", ["http"], framingAttacks),
  ...group("messages", ["http", "stdio"], messageAttacks),
  ...group("principals", ["http"], principalAttacks),
  ...group("states", ["http"], stateAttacks),
  ...group("tasks", ["http"], taskAttacks),
  ...group("stdio", ["stdio"], stdioAttacks),
  ...group("memory", ["http"], memoryAttacks),
  ...group("slow", ["http"], slowAttacks),
];

function group(name, over, attacks) {
  return attacks.map((attack) => ({ needs: [], ...attack, group: name, over }));
}

/** The attacks that somebody wants. Throws `Error` for a word that names none. */
export function chosen(attacks, { only, skip }) {
  const names = ({ id, group: of, covers }) => [id, of, ...covers.map((row) => row.toLowerCase())];
  const known = new Set(attacks.flatMap(names));
  const unknown = [...only, ...skip].find((word) => !known.has(word));
  if (unknown !== undefined) throw new Error(`no attack, group or id is called ${unknown}; see --list`);
  return attacks.filter((attack) => {
    const own = names(attack);
    return (only.length === 0 || only.some((word) => own.includes(word))) && !skip.some((word) => own.includes(word));
  });
}
