/**
 * Where a definition has what it takes to serve its kind. It comes with the
 * definition, so that programs that define none of a kind do not carry it.
 */
export const kit: unique symbol = Symbol("plugbay.kit");
