import { expectTypeOf } from "vitest";
import type { ConfigEntry } from "../connect/target.ts";
import type { ToolFilter as HostToolFilter } from "../host/spec.ts";
import type { ServerEntry, ToolFilter } from "./server-entry.ts";

// What a file says can be connected to as it is.
expectTypeOf<ServerEntry["target"]>().toExtend<ConfigEntry>();
expectTypeOf<ToolFilter>().toExtend<HostToolFilter>();
