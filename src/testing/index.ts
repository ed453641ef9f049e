/// <reference path="../index.ts" preserve="true" />
export type { Client } from "../client/client.ts";
export type { Watch } from "../client/listen.ts";
export type { TaskHandle, Tasks } from "../client/tasks.ts";
export type { ToolFunction, Tools } from "../client/typed-tools.ts";
export { type ConnectOptions, connect as testClient } from "../connect/connect.ts";
export type { Connect } from "../connect/create-connect.ts";
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
export type { PeerCounters } from "../jsonrpc/peer.ts";
export type { Connection } from "../model/connection.ts";
export { memoryChannels } from "../transport/memory-channels.ts";
export { openChannel } from "../transport/open-channel.ts";
// As it was before `plugbay/server` had it, with what tests want to see of it.
export { type ServeOptions, type Serving, serveChannel } from "../transport/serve-channel.ts";
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
