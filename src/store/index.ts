export type { Awaitable } from "../std/awaitable.ts";
export { type MemoryStoreOptions, memoryStore } from "./memory-store.ts";
export { openStore } from "./open-store.ts";
export {
  type AppendOptions,
  type Conditions,
  type Lease,
  type Leases,
  type ListOptions,
  type Message,
  type NamedValue,
  type PutOptions,
  type Reading,
  type Store,
  StoreError,
  type StoreErrorCode,
  type StreamEvent,
  type Streams,
  type Subscription,
  type Topics,
  type Value,
  type Values,
} from "./store.ts";
