import { type Lazy, lazy } from "../std/lazy.ts";

/** What handlers need that ask, run steps or are continued by another call. */
export type Questions = typeof import("./questions.ts");

export const lazyQuestions: Lazy<Questions> = lazy(() => import("./questions.ts"));
