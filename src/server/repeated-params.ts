import type { JsonObject } from "../json/json.ts";
import type { HttpFacts } from "../std/http-facts.ts";
import type { Provable } from "./owned-schema.ts";

/** The arguments of a tool that HTTP headers repeat. */
export interface RepeatedParams extends Provable {
  /** Why the headers of a call say something else than its arguments, if so. */
  problem(args: JsonObject, http: HttpFacts): Promise<string | undefined>;
}

/** Undefined for a schema without such arguments. What reads them is loaded only where there are some. */
export function repeatedParams(owner: string, schema: JsonObject): RepeatedParams | undefined {
  if (!JSON.stringify(schema).includes('"x-mcp-header"')) return undefined;
  const load = () => import("../schema/param-headers.ts");
  return {
    owner,
    async prove() {
      const read = (await load()).readParamHeaders(schema);
      return read.ok ? undefined : read.problem;
    },
    async problem(args, http) {
      const { readParamHeaders, paramHeaderProblem } = await load();
      const read = readParamHeaders(schema);
      return read.ok ? paramHeaderProblem(read.headers, args, (name) => http.header(name)) : undefined;
    },
  };
}
