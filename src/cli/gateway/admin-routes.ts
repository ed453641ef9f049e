import type { ApprovalAnswer } from "../../gateway/approval.ts";
import type { ExplainRequest } from "../../gateway/explain.ts";
import type { Gateway } from "../../gateway/open-gateway.ts";
import { formatUpstreamMetrics } from "../../gateway/upstream-metrics.ts";
import { isObject, type JsonObject } from "../../json/json.ts";
import type { Metrics } from "../../metrics/metrics.ts";
import { McpError } from "../../protocol/errors.ts";
import type { FetchRoute, Routes } from "../../transport/http/routes.ts";

/** What operators of a gateway ask and tell it, beside its endpoint or at a port of its own. */
export function adminRoutes(gateway: Gateway, metrics: Metrics, held: () => object): Routes {
  return {
    "/status": async () => Response.json({ ...gateway.status(), nodes: await gateway.nodes(), held: held() }),
    "/metrics": async () =>
      new Response((await metrics.text()) + formatUpstreamMetrics(gateway.status()), {
        headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" },
      }),
    "/approvals": orProblem(async (request) => {
      if (request.method === "GET") return Response.json({ approvals: await gateway.approvals.list() });
      const { id, answer } = readAnswer(await readBody(request));
      await gateway.approvals.answer(id, answer);
      return Response.json({ id, approved: answer.approved });
    }),
    "/explain": orProblem(async (request) =>
      Response.json(await gateway.explain(readExplain(await readBody(request)))),
    ),
  };
}

/** Says what is wrong with a request as JSON. */
function orProblem(route: FetchRoute): FetchRoute {
  return async (request) => {
    try {
      return await route(request);
    } catch (error) {
      if (!(error instanceof McpError)) throw error;
      const status = error.code === "invalid-params" || error.code === "unsupported" ? 400 : 500;
      return Response.json({ error: { code: error.code, message: error.message } }, { status });
    }
  };
}

/** The body of a POST. A page of another site cannot send JSON without being allowed to: forms are refused. */
async function readBody(request: Request): Promise<JsonObject> {
  if (request.method !== "POST") throw invalid("the method must be POST");
  const [type] = (request.headers.get("content-type") ?? "").split(";");
  if (type?.trim().toLowerCase() !== "application/json") throw invalid("the content-type must be application/json");
  const body: unknown = await request.json().catch(() => undefined);
  if (isObject(body)) return body;
  throw invalid("the body must be a JSON object");
}

function readAnswer({ id, approved, by, reason }: JsonObject): {
  readonly id: string;
  readonly answer: ApprovalAnswer;
} {
  if (typeof id !== "string") throw invalid("id must be the id of a call that waits");
  if (typeof approved !== "boolean") throw invalid("approved must be true or false");
  if (typeof by !== "string" || by === "") throw invalid("by must say who answers");
  if (reason !== undefined && typeof reason !== "string") throw invalid("reason must be a text");
  return { id, answer: { approved, by, ...(reason !== undefined && { reason }) } };
}

function readExplain({ principal, groups, method, server, name, arguments: args }: JsonObject): ExplainRequest {
  if (typeof server !== "string" || typeof name !== "string") throw invalid("server and name must be texts");
  if (principal !== undefined && typeof principal !== "string") throw invalid("principal must be a text");
  if (args !== undefined && !isObject(args)) throw invalid("arguments must be an object");
  const known = methods.find((one) => one === (method ?? "tools/call"));
  if (known === undefined) throw invalid(`method must be one of ${methods.join(", ")}`);
  const all = Array.isArray(groups) ? groups.filter((group) => typeof group === "string") : [];
  if (groups !== undefined && (!Array.isArray(groups) || all.length < groups.length))
    throw invalid("groups must be a list of texts");
  return {
    server,
    name,
    method: known,
    groups: all,
    ...(principal !== undefined && { principal }),
    ...(args && { arguments: args }),
  };
}

const methods = ["tools/call", "prompts/get", "resources/read"] as const;

function invalid(message: string): McpError {
  return new McpError("invalid-params", message);
}
