import { type Lazy, lazy } from "../std/lazy.ts";

/** Tells whether a text has a format. Formats that nobody knows only annotate. */
export type TestFormat = (format: string, text: string) => boolean;

/** The formats that are known, for the first schema that names one. */
export const lazyFormats: Lazy<TestFormat> = lazy(
  () => import("typebox/format"),
  ({ Format }) => Format.Test,
);
