import type { Change } from "../model/subscription.ts";
import type { ServerStatus } from "./status.ts";

/** Something that happened to a host. */
export type HostEvent =
  | { readonly kind: "added" | "removed"; readonly server: string }
  | {
      readonly kind: "state";
      readonly server: string;
      readonly status: ServerStatus;
      readonly before: ServerStatus["state"];
    }
  | { readonly kind: "changed"; readonly server: string; readonly change: Change }
  /** A tool is there, but must not be called. */
  | { readonly kind: "denied"; readonly server: string; readonly tool: string; readonly by: string };
