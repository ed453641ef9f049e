import { isObject } from "../../json/json.ts";
import { parseJson } from "../../json/parse.ts";
import type { HttpRequestInfo } from "../../std/http-request-info.ts";

/** Parameters by name, each of which came once. Empty ones count as left out, as OAuth wants it. */
export type Parameters = ReadonlyMap<string, string>;

/** The parameters in the query of a URL. Undefined when one of them came twice: nobody knows which one counts. */
export function queryOf(http: HttpRequestInfo): Parameters | undefined {
  return once(new URLSearchParams(http.url.split("?").slice(1).join("?")));
}

/** The parameters in a form. Undefined when it is none, or one of them came twice. */
export function formOf(http: HttpRequestInfo, body: string): Parameters | undefined {
  const [type = ""] = (http.header("content-type") ?? "").toLowerCase().split(";", 1);
  if (type.trim() !== "application/x-www-form-urlencoded") return undefined;
  return body.startsWith("{") ? parsedForm(body) : once(new URLSearchParams(body));
}

/** A form that a framework has read before, and that was made a text again as JSON. */
function parsedForm(body: string): Parameters | undefined {
  const parsed = parseJson(body);
  if (!parsed.ok || !isObject(parsed.value)) return undefined;
  const entries = Object.entries(parsed.value);
  if (!entries.every((entry): entry is [string, string] => typeof entry[1] === "string")) return undefined;
  return new Map(entries.filter(([, value]) => value !== ""));
}

function once(parameters: URLSearchParams): Parameters | undefined {
  const found = new Map<string, string>();
  for (const [name, value] of parameters) {
    if (found.has(name)) return undefined;
    found.set(name, value);
  }
  return new Map([...found].filter(([, value]) => value !== ""));
}

/** The value of a cookie. Undefined when there is none, or more than one. */
export function cookieOf(http: HttpRequestInfo, name: string): string | undefined {
  const pairs = (http.header("cookie") ?? "").split(";").map((pair) => pair.trim());
  const values = pairs.flatMap((pair) => (pair.startsWith(`${name}=`) ? [pair.slice(name.length + 1)] : []));
  return values.length === 1 ? values[0] : undefined;
}
