export type { Awaitable } from "../std/awaitable.ts";
export { type MemoryStoreOptions, memoryStore } from "./memory-store.ts";
export { openStore } from "./open-store.ts";
export {
  type AppendOptions,
  type Lease,
  type NamedValue,
  type PutOptions,
  type Store,
  type StoredValue,
  StoreError,
  type StoreErrorCode,
  type StoreLeases,
  type StoreListOptions,
  type StoreStreams,
  type StoreTopics,
  type StoreValues,
  type StreamEvent,
  type StreamPage,
  type TopicMessage,
  type TopicSubscription,
  type WriteConditions,
} from "./store.ts";
