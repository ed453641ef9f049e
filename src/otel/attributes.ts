import type { Attributes, Span } from "@opentelemetry/api";
import type { CallLabels } from "../protocol/call-labels.ts";
import type { CallStatus } from "../protocol/codec/call-status.ts";
import type { ObservedCall, ObservedSession } from "../protocol/telemetry.ts";

/** What a call is: enough for a sampler, which sees a span before there is one. */
export function callAttributes(method: string, name: string | undefined): Attributes {
  if (method !== "tools/call") {
    return name === undefined
      ? { "mcp.method.name": method }
      : { "gen_ai.prompt.name": name, "mcp.method.name": method };
  }
  const attributes: Attributes = { "gen_ai.operation.name": "execute_tool" };
  if (name !== undefined) attributes["gen_ai.tool.name"] = name;
  attributes["mcp.method.name"] = method;
  return attributes;
}

/** What else a span says of a call from its beginning. One at a time: an SDK copies those that it is given together three times. */
export function describeCall(span: Span, call: ObservedCall): void {
  const { client, transport, serverAddress, serverPort, uri, sessionId, http, rpcId } = call;
  span.setAttribute("mcp.protocol.version", client.revision);
  if (transport !== undefined) span.setAttribute("network.transport", transport);
  if (serverAddress !== undefined) span.setAttribute("server.address", serverAddress);
  if (serverPort !== undefined) span.setAttribute("server.port", serverPort);
  if (http?.remoteAddress !== undefined) span.setAttribute("client.address", http.remoteAddress);
  if (rpcId !== undefined && rpcId !== "") span.setAttribute("jsonrpc.request.id", String(rpcId));
  if (uri !== undefined) span.setAttribute("mcp.resource.uri", uri);
  if (sessionId !== undefined) span.setAttribute("mcp.session.id", sessionId);
}

/** What a metric says of a call. */
export function metricAttributes(call: ObservedCall, { method, name }: CallLabels, status: CallStatus): Attributes {
  const { client, transport, serverAddress, serverPort } = call;
  const attributes = callAttributes(method, name);
  attributes["mcp.protocol.version"] = client.revision;
  if (transport !== undefined) attributes["network.transport"] = transport;
  if (serverAddress !== undefined) attributes["server.address"] = serverAddress;
  if (serverPort !== undefined) attributes["server.port"] = serverPort;
  if (status.rpcCode !== undefined) attributes["rpc.response.status_code"] = status.rpcCode;
  if (status.errorType !== undefined) attributes["error.type"] = status.errorType;
  return attributes;
}

/** What a metric says of a session. */
export function sessionAttributes(session: ObservedSession, error: unknown): Attributes {
  const { revision, transport, serverAddress, serverPort } = session;
  return {
    "mcp.protocol.version": revision,
    ...(transport !== undefined && { "network.transport": transport }),
    ...(serverAddress !== undefined && { "server.address": serverAddress }),
    ...(serverPort !== undefined && { "server.port": serverPort }),
    ...(error !== undefined && { "error.type": typeOf(error) }),
  };
}

function typeOf(error: unknown): string {
  if (typeof error === "object" && error !== null && "code" in error) return String(error.code);
  return error instanceof Error ? error.name : "_OTHER";
}
