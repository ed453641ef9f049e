export { type ConnectOptions, connect as testClient } from "../connect/connect.ts";
export type { Channel } from "../jsonrpc/channel.ts";
export { memoryChannels } from "../transport/memory.ts";
export { openChannel } from "../transport/open-channel.ts";
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
