import type { SafeFetch } from "../auth/safe-fetch.ts";
import type { JsonObject } from "../json/json.ts";
import { McpError, toolError } from "../protocol/errors.ts";
import type { Context } from "../server/context.ts";
import { isSecretOption } from "../std/secret-names.ts";
import { createMask, type Mask, secretsInHeaders } from "../std/secrets.ts";
import { type BuiltRequest, buildRequest } from "./build-request.ts";
import {
  type Credentials,
  findCredentials,
  noCredentials,
  type OpenApiAuth,
  type OpenApiSecurityScheme,
} from "./credentials.ts";
import type { Operation } from "./operation.ts";
import type { OperationInput } from "./operation-input.ts";

/** What calling operations takes, whichever it is. */
export interface ApiAccess {
  readonly fetch: SafeFetch;
  /** Sent to the origin of the server only, with names in small letters. */
  readonly headers: Readonly<Record<string, string>>;
  readonly auth: OpenApiAuth | undefined;
  readonly schemes: ReadonlyMap<string, OpenApiSecurityScheme>;
  /** The one origin that credentials go to. */
  readonly origin: string;
}

/** An operation that is ready to be called. */
export interface CallableOperation {
  readonly name: string;
  readonly operation: Operation;
  readonly input: OperationInput;
  readonly base: URL;
}

export interface AnsweredCall {
  readonly response: Response;
  readonly url: URL;
  /** Hides credentials of the request. */
  readonly mask: Mask;
}

/** Sends the request of an operation. Throws `tool-error` where it cannot be sent, or gets no usable response. */
export async function callOperation(
  { name, operation, input, base }: CallableOperation,
  args: JsonObject,
  context: Context,
  access: ApiAccess,
): Promise<AnsweredCall> {
  const { auth, schemes, headers, origin } = access;
  const isHome = base.origin === origin;
  const { security, method, path } = operation;
  const credentials = isHome
    ? await findCredentials({ security, schemes, auth, operation: name }, context)
    : noCredentials;
  const request = buildRequest({ method, path, base, input, args, headers: isHome ? headers : {}, credentials });
  const mask = createMask(secretsOf(credentials, isHome ? headers : {}));
  try {
    return { response: await send(request, context, access), url: request.url, mask };
  } catch (error) {
    throw error instanceof McpError && error.code !== "cancelled"
      ? toolError(mask(`${name}: ${error.message}`))
      : error;
  }
}

function send(
  { url, method, headers, body }: BuiltRequest,
  { signal }: Context,
  { fetch }: ApiAccess,
): Promise<Response> {
  return fetch(url, { method, headers, signal, ...(body !== undefined && { body }) });
}

function secretsOf(
  { headers, query, cookies }: Credentials,
  fixed: Readonly<Record<string, string>>,
): readonly string[] {
  const secret = Object.entries(fixed).filter(([name]) => isSecretOption(name));
  const values = [...secret.map(([, value]) => value), ...Object.values(headers)];
  return [...secretsInHeaders(values), ...[...query, ...cookies].map(([, value]) => value)];
}
