/// <reference path="../index.ts" preserve="true" />
export type { Client } from "../client/client.ts";
export type { Watch } from "../client/listen.ts";
export type { ClientTasks, TaskHandle } from "../client/tasks.ts";
export type { CallTool, ToolFunction, ToolFunctions } from "../client/typed-tools.ts";
export type { Channel } from "../jsonrpc/channel.ts";
export type {
  Batch,
  ErrorObject,
  Failure as JsonRpcFailure,
  Id,
  Incoming,
  Malformed,
  Message,
  Notification as JsonRpcNotification,
  Parsed,
  Request as JsonRpcRequest,
  Response as JsonRpcResponse,
  Success,
  Undelivered,
} from "../jsonrpc/message.ts";
export { createMemoryChannels } from "../transport/memory-channels.ts";
export { createManualClock, type ManualClock } from "./clock.ts";
export { createFakePeer, type FakePeer } from "./fake-peer.ts";
export { type MatrixCell, type MatrixOptions, testMatrix } from "./matrix.ts";
export type { StorePlace } from "./store-contract/cases.ts";
export { type StoreContractCase, storeContract } from "./store-contract/store-contract.ts";
export { formatSurface, readSurface, type Surface } from "./surface.ts";
export { type MatcherVerdict, type ToolMatchers, toolMatchers } from "./tool-matchers.ts";
export { assertToolResult, type ExpectedResult } from "./tool-result.ts";
export {
  diffTranscripts,
  parseTranscript,
  type RecordOptions,
  recordChannel,
  type Transcript,
  type TranscriptLine,
} from "./transcript.ts";
