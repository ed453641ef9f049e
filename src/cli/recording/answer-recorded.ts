import { canonicalText } from "../../json/canonical.ts";
import { isObject, type Json, type JsonObject } from "../../json/json.ts";
import { progressTokenOf, type RecordedCall, type Recording } from "./recording.ts";
import { redactMessage } from "./redact-message.ts";

/** Answers requests as a recorded server did. */
export interface RecordedServer {
  /** What to send for a message of a client, in order: notifications, then the response. Empty for what needs no answer. */
  answer(message: JsonObject): readonly JsonObject[];
}

/** How a greeting says who the client is tells nothing about the answer. */
const greetings: ReadonlySet<string> = new Set(["initialize", "server/discover", "ping"]);

/**
 * Answers a request with what was recorded for the same method and params. Of several such answers each is given once, in
 * their order, and the last one again and again.
 */
export function createRecordedServer({ calls, isRedacted }: Recording): RecordedServer {
  const answers = new Map<string, RecordedCall[]>();
  for (const call of calls) {
    if (call.response === undefined) continue;
    const key = keyOf(call.method, call.params, false);
    answers.set(key, [...(answers.get(key) ?? []), call]);
  }
  const methods = new Set(calls.map(({ method }) => method));

  const take = (method: string, params: JsonObject): RecordedCall | undefined => {
    const list = answers.get(keyOf(method, params, isRedacted)) ?? [];
    return list.length > 1 ? list.shift() : list[0];
  };

  return {
    answer({ id, method, params }) {
      if (typeof method !== "string" || id === undefined) return [];
      const given = isObject(params) ? params : {};
      const call = take(method, given);
      if (call === undefined) return [unknown(id, method, methods)];
      const token = progressTokenOf(given);
      const notifications = call.notifications.flatMap((one) => withToken(one, token));
      return [...notifications, { jsonrpc: "2.0", id, ...call.response }];
    },
  };
}

function keyOf(method: string, params: JsonObject, redact: boolean): string {
  if (greetings.has(method)) return method;
  const { _meta, ...own } = params;
  return `${method} ${canonicalText(redact ? redactMessage(own, (text) => text) : own)}`;
}

/** Progress belongs to the request of now. Without a token nobody asked for it. */
function withToken(notification: JsonObject, token: Json | undefined): readonly JsonObject[] {
  const { params } = notification;
  if (!isObject(params) || params.progressToken === undefined) return [notification];
  return token === undefined ? [] : [{ ...notification, params: { ...params, progressToken: token } }];
}

function unknown(id: Json, method: string, methods: ReadonlySet<string>): JsonObject {
  const error = methods.has(method)
    ? { code: -32602, message: `the recording has no answer to ${method} with these params` }
    : { code: -32601, message: `the recording has no ${method}` };
  return { jsonrpc: "2.0", id, error };
}
