export type {
  Authentication,
  Authenticator,
  AuthRefusal,
  AuthScheme,
  ResourceMetadata,
} from "../../model/authenticator.ts";
export type { Auth, AuthClaims } from "../../model/peer.ts";
export type { HttpFacts } from "../../std/http-facts.ts";
export { type ApiKeyOptions, apiKey, hashApiKey } from "./api-key.ts";
export { type BasicOptions, basic, type Login } from "./basic.ts";
export { bearer, type VerifyBearer } from "./bearer.ts";
export type { DpopOptions } from "./dpop.ts";
export { firstOf, none } from "./first-of.ts";
export { type IntrospectionOptions, introspection } from "./introspection.ts";
export { type JwtOptions, jwt } from "./jwt.ts";
export type { KnownSecret } from "./known.ts";
export { hashPassword } from "./passwords.ts";
export type { TokenOptions } from "./tokens.ts";
