/**
 * Marks a branch the type checker has proved empty.
 *
 * A member added to a union turns every forgotten `switch` into a compile
 * error at this call, instead of a silent fall-through at run time.
 */
export function unreachable(value: never): never {
  throw new TypeError(`unexpected value: ${JSON.stringify(value)}`);
}
