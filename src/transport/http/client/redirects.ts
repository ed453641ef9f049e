import { McpError } from "../../../model/errors.ts";
import type { LazyAbort } from "../../../std/lazy-abort.ts";
import type { HttpSend, IncomingResponse, OutgoingRequest } from "../http-send.ts";
import { statusText } from "./http-errors.ts";

const maxRedirects = 5;
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export function isRedirect(status: number): boolean {
  return redirects.has(status);
}

/**
 * Follows redirects within the origin of the request, from the first answer on.
 *
 * Another origin is never contacted: what we send is meant for one server. A
 * POST goes only where it stays a POST. Rejects when it leads nowhere.
 */
export async function followRedirects(
  send: HttpSend,
  request: OutgoingRequest,
  response: IncomingResponse,
  abort: LazyAbort,
): Promise<IncomingResponse> {
  let [current, answer] = [request, response];
  for (let count = 0; isRedirect(answer.status); count++) {
    answer.discard();
    if (count === maxRedirects) throw refusal(answer, `more than ${maxRedirects} times`);
    current = { ...current, url: targetOf(current, answer) };
    answer = await send(current, abort);
  }
  return answer;
}

function targetOf({ method, url }: OutgoingRequest, response: IncomingResponse): URL {
  const location = response.header("location");
  if (location === undefined || !URL.canParse(location, url)) throw refusal(response, "to nowhere");
  const target = new URL(location, url);
  if (target.origin !== url.origin) throw refusal(response, `to another origin, ${target.origin}`);
  if (method === "POST" && response.status < 307) throw refusal(response, "in a way that would lose the message");
  return target;
}

function refusal({ status }: IncomingResponse, how: string): McpError {
  const message = `the server redirects ${how} (${statusText(status)}), which is not followed`;
  return new McpError("http-error", message, { data: { status } });
}
