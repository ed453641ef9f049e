/// <reference path="../index.ts" preserve="true" />
export type { Client } from "../client/client.ts";
export type { Watch } from "../client/listen.ts";
export type { TaskHandle, Tasks } from "../client/tasks.ts";
export type { ToolFunction, Tools } from "../client/typed-tools.ts";
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
export { memoryChannels } from "../transport/memory-channels.ts";
export { createManualClock, type ManualClock } from "./clock.ts";
export { createFakePeer, type FakePeer } from "./fake-peer.ts";
export { type MatrixOptions, matrix, type Way } from "./matrix.ts";
export {
  firstDifference,
  type Line,
  parseTranscript,
  type RecordOptions,
  recordChannel,
  type Transcript,
} from "./transcript.ts";
