/**
 * What a platform gives for a request, as `ctx.platform`: the `env` of a Worker, the request of a framework. Empty until
 * you extend it, once for a whole program; the option `platform` of what serves has to return it.
 *
 * @example
 * declare module "plugbay/server" {
 *   interface Platform {
 *     readonly env: { readonly ORDERS: KVNamespace };
 *   }
 * }
 */
// biome-ignore lint/suspicious/noEmptyInterface: its members are those of the program that uses it
export interface Platform {}

/** A platform as handlers see it: unknown, until {@link Platform} says more. */
export type KnownPlatform = [keyof Platform] extends [never] ? unknown : Platform;

/** The platform value of one request. Created once, on first use. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
