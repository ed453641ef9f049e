import type { Json, JsonObject } from "../json/json.ts";
import { toolError } from "../protocol/errors.ts";
import type { Credentials } from "./credentials.ts";
import { encodeBody } from "./encode-body.ts";
import { encode, encodeHeader, encodePairs, encodePath, queryPairs } from "./encode-parameter.ts";
import type { OperationInput, ParameterArgument } from "./operation-input.ts";

/** What a request is made of. */
export interface RequestParts {
  readonly method: string;
  readonly path: string;
  readonly base: URL;
  readonly input: OperationInput;
  readonly args: JsonObject;
  /** Sent with every request, unless it goes to another origin. */
  readonly headers: Readonly<Record<string, string>>;
  readonly credentials: Credentials;
}

export interface BuiltRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
}

/**
 * Puts arguments where they belong. Credentials and fixed headers win over parameters. Throws `tool-error` for an
 * argument that cannot be sent, or would lead to another path.
 */
export function buildRequest({ method, path, base, input, args, headers, credentials }: RequestParts): BuiltRequest {
  const given = input.parameters.flatMap((parameter): readonly Given[] => {
    const value = args[parameter.argument];
    return value === undefined || value === null ? [] : [{ parameter, value }];
  });
  const query = [
    ...given
      .filter(at("query"))
      .flatMap(({ parameter, value }) =>
        encodePairs(queryPairs(parameter.name, value, parameter), parameter.allowReserved),
      ),
    ...credentials.query.map(([name, value]) => `${encode(name)}=${encode(value)}`),
  ];
  const cookies = [
    ...given
      .filter(at("cookie"))
      .flatMap(({ parameter, value }) => encodePairs(queryPairs(parameter.name, value, parameter))),
    ...credentials.cookies.map(([name, value]) => `${name}=${encode(value)}`),
  ];
  const own = given
    .filter(at("header"))
    .map(
      ({ parameter, value }) =>
        [parameter.name.toLowerCase(), encodeHeader(parameter.argument, value, parameter)] as const,
    );
  const value = input.body === undefined ? undefined : args[input.body.argument];
  const body = input.body === undefined || value === undefined ? undefined : encodeBody(input.body, value);
  return {
    url: urlOf(base, pathOf(path, given), query),
    method,
    headers: {
      ...Object.fromEntries(own),
      accept: "*/*",
      ...(cookies.length > 0 && { cookie: cookies.join("; ") }),
      ...(body !== undefined && { "content-type": body.contentType }),
      ...headers,
      ...credentials.headers,
    },
    ...(body !== undefined && { body: body.body }),
  };
}

interface Given {
  readonly parameter: ParameterArgument;
  readonly value: Json;
}

function at(place: ParameterArgument["place"]): (given: Given) => boolean {
  return ({ parameter }) => parameter.place === place;
}

/** The path with its parameters. A part that would be read as a step to another folder is refused. */
function pathOf(template: string, given: readonly Given[]): string {
  const inPath = given.filter(at("path"));
  const path = template.replaceAll(/\{([^{}]+)\}/g, (_, name: string) => {
    const found = inPath.find(({ parameter }) => parameter.name === name);
    if (found === undefined) throw toolError(`the path parameter ${name} is missing`);
    const text = encodePath(name, found.value, found.parameter);
    if (text === "") throw toolError(`the path parameter ${name} is empty`);
    return text;
  });
  // What stands between the parameters is the document's: it must not end the path.
  const written = path.replaceAll("?", "%3F").replaceAll("#", "%23").replaceAll("\\", "%5C");
  if (written.split("/").some((part) => /^(?:\.|%2e){1,2}$/i.test(part))) {
    throw toolError("a path parameter must not be . or .., which lead to another path");
  }
  return written;
}

function urlOf(base: URL, path: string, query: readonly string[]): URL {
  const all = [base.search.slice(1), ...query].filter((part) => part !== "");
  const start = `${base.origin}${base.pathname.replace(/\/$/, "")}`;
  const url = new URL(`${start}${path}${all.length === 0 ? "" : `?${all.join("&")}`}`);
  if (url.origin === base.origin && url.href.startsWith(start)) return url;
  throw toolError("the arguments lead to another place than the server");
}
