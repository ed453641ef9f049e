import type { Context } from "./context.ts";

/** Whether the caller of `context` sees a thing. It can read everything that a handler can, and cannot ask. */
export type Visible = (context: Context) => boolean | Promise<boolean>;

/** Who may use a tool, a prompt or a resource. */
export interface Accessible {
  /**
   * Scopes that callers need, all of them. A caller without one of them is refused
   * with `forbidden`; over HTTP with 403, so that clients can ask for more. Lists
   * show the thing all the same. Default none.
   */
  readonly scopes?: readonly string[] | undefined;
  /**
   * Decides for each caller whether the thing exists: where it returns anything but true, the thing is not listed, and
   * using it is the error of an unknown name. Lists with such things are created for every caller, and are never cached
   * as public. Default: every caller sees it.
   */
  readonly visible?: Visible | undefined;
}
