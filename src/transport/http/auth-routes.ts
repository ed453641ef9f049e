import type { AuthRoute, RouteAnswer } from "../../protocol/authenticator.ts";
import type { ErrorCode } from "../../protocol/errors.ts";
import { quote } from "../../std/text.ts";
import type { Admitted } from "./admission.ts";
import { createHostCheck } from "./allowed-hosts.ts";
import { type HttpAnswer, type HttpHead, type HttpReply, pathOf, refusal, sendAnswer } from "./http-message.ts";
import type { RefusalEvents } from "./refusal-events.ts";

interface AuthRoutesOptions {
  readonly routes: Readonly<Record<string, AuthRoute>>;
  /** Names of the server. */
  readonly hosts: readonly string[] | "any";
  /** Called with why a route could not answer, and with other warnings for the operator. */
  warn(message: string): void;
}

/** The paths that an authenticator serves beside the endpoint. */
export interface AuthRoutes {
  /** Whether a request is for one of them. */
  has(head: HttpHead): boolean;
  /** Judges a request for one of them by its head. */
  admit(head: HttpHead): Admitted;
  /** Answers a request that was admitted, and tells of the refusal if it is one. */
  handle(head: HttpHead, body: string, reply: HttpReply, refusals?: RefusalEvents): void;
}

/** In bytes where the length is announced, else in characters. No form that signs somebody in is longer. */
const MAX_BODY = 65_536;

export function createAuthRoutes({ routes, hosts, warn }: AuthRoutesOptions): AuthRoutes {
  const byPath = new Map(Object.entries(routes));
  const checkHost = createHostCheck(hosts);

  const answer = async (head: HttpHead, body: string): Promise<HttpAnswer & Pick<RouteAnswer, "refusal">> => {
    if (body.length > MAX_BODY) return tooLarge;
    try {
      const answered = await byPath.get(pathOf(head.url))?.(head, body);
      if (answered === undefined) return failed;
      if (answered.warning !== undefined) warn(answered.warning);
      return answered;
    } catch (error) {
      // Errors of others may repeat what was sent.
      warn(`${quote(pathOf(head.url))} failed: ${error instanceof Error ? error.name : "it threw"}`);
      return failed;
    }
  };

  return {
    has: (head) => byPath.has(pathOf(head.url)),
    admit(head) {
      const badHost = checkHost(head.header("host"));
      if (badHost !== undefined) return { ok: false, answer: refusal(403, badHost) };
      return Number(head.header("content-length") ?? 0) > MAX_BODY
        ? { ok: false, answer: tooLarge }
        : { ok: true, cors };
    },
    handle(head, body, reply, refusals) {
      void answer(head, body).then((answered) => {
        const { status, refusal: code = codes.get(status) } = answered;
        if (code !== undefined) refusals?.answered(head, status, code);
        sendAnswer(reply, answered);
      });
    },
  };
}

/** Why a route refuses, by the status of its answer. */
const codes: ReadonlyMap<number, ErrorCode> = new Map([
  [401, "unauthorized"],
  [403, "forbidden"],
  [413, "limit-reached"],
  [429, "limit-reached"],
]);

/** Routes say themselves who may read their answers. */
const cors = Object.freeze({});
const tooLarge = refusal(413, `the body is too large; send at most ${MAX_BODY} bytes`);
const failed = refusal(503, "this cannot be answered right now; retry later", { "retry-after": "5" });
