/** Members that may be `undefined` as members that may be absent. */
export type Defined<T> = {
  readonly [K in keyof T as undefined extends T[K] ? never : K]: T[K];
} & {
  readonly [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** Members that may be absent as members that may be `undefined` too: for what callers pass. */
export type OrUndefined<T> = {
  [K in keyof T]: Record<never, never> extends Pick<T, K> ? T[K] | undefined : T[K];
};

/** A copy without the members that are `undefined`. Not for what every call passes: a spread is faster. */
export function defined<T extends object>(members: T): Defined<T> {
  return Object.fromEntries(Object.entries(members).filter(([, member]) => member !== undefined)) as Defined<T>;
}
