export type {
  Authentication,
  Authenticator,
  AuthRefusal,
  AuthScheme,
  ResourceMetadata,
} from "../../model/authenticator.ts";
export type { Auth, AuthClaims, KnownClaims, NeededAuth } from "../../model/peer.ts";
export type { HttpFacts } from "../../std/http-facts.ts";
export { firstOf, none } from "./any-of.ts";
export { type ApiKeyOptions, apiKey, hashApiKey } from "./api-key.ts";
export { type BasicOptions, basic, type Login } from "./basic.ts";
export type { CheckedAuth } from "./claims.ts";
export type { DpopOptions } from "./dpop.ts";
export { type IntrospectionOptions, introspection } from "./introspection.ts";
export { type JwtOptions, jwt } from "./jwt.ts";
export type { KnownSecret } from "./secrets.ts";
export { hashPassword } from "./secrets.ts";
export type { TokenOptions } from "./tokens.ts";
export { bearer, type VerifyBearer } from "./tokens.ts";
