import type { JsonObject } from "../../json/json.ts";
import type { Request } from "../../jsonrpc/message.ts";
import type { ClientCodec, Decoded, ServerCodec, WireCall } from "../../protocol/codec/codec.ts";
import type { Question, QuestionAnswer, QuestionMethod } from "../../protocol/input.ts";
import type { LogLevel } from "../../protocol/logging.ts";
import type { DiscoverResult } from "../../protocol/methods.ts";
import type { ClientCapabilities, ClientInfo, Implementation } from "../../protocol/peer.ts";

/** What a legacy connection remembers of its client. */
export interface Session {
  readonly peer: ClientInfo;
  readonly logLevel: LogLevel | undefined;
}

/** What a client sends to open a legacy connection, in words of the model. */
export interface InitializeRequest {
  readonly info: Implementation;
  readonly capabilities: ClientCapabilities;
}

/** The server's end of a revision that opens with a handshake. */
export interface LegacyServerCodec extends ServerCodec, Pick<ClientCodec, "decodeFailure"> {
  /** A request, in the session it belongs to. */
  decodeCall(request: Request, session?: Session): Decoded<WireCall>;
  decodeInitializeRequest(params: JsonObject): Decoded<InitializeRequest>;
  encodeInitializeResult(server: DiscoverResult): JsonObject;
}

/** The client's end of a revision that opens with a handshake, and in which servers ask by requests of their own. */
export interface LegacyClientCodec extends ClientCodec {
  encodeInitializeRequest(request: InitializeRequest): JsonObject;
  decodeInitializeResult(result: JsonObject): Decoded<DiscoverResult>;
  decodeQuestion(method: string, params: JsonObject): Decoded<Question>;
  encodeAnswer(method: QuestionMethod, answer: QuestionAnswer): JsonObject;
}

/** The error for a request before the handshake that does not state its revision. */
export const notInitialized = "not initialized: send initialize first";
