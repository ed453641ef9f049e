export type {
  Authentication,
  Authenticator,
  AuthRejection,
  AuthRoute,
  AuthScheme,
  ResourceMetadata,
  RouteAnswer,
} from "../../protocol/authenticator.ts";
export type { Auth, AuthClaims, KnownClaims, NeededAuth } from "../../protocol/peer.ts";
export type { HttpRequestInfo } from "../../std/http-request-info.ts";
export { anonymous, anyOf } from "./any-of.ts";
export { type ApiKeyOptions, apiKey, hashApiKey } from "./api-key.ts";
export { type BasicCredentials, type BasicOptions, basic } from "./basic.ts";
export type { CheckedAuth } from "./claims.ts";
export type { DpopOptions } from "./dpop.ts";
export { type IntrospectionOptions, introspection } from "./introspection.ts";
export { type JwtOptions, jwt } from "./jwt.ts";
export type { HashedSecret } from "./secrets.ts";
export { hashPassword } from "./secrets.ts";
export type { TokenAuthOptions } from "./tokens.ts";
export { bearer, type VerifyToken } from "./tokens.ts";
