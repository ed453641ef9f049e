import { importPKCS8 } from "jose";
import {
  type AuthorizationServer,
  type ClientAuth,
  ClientSecretPost,
  type CryptoKey,
  None,
  PrivateKeyJwt,
} from "oauth4webapi";
import { McpError } from "../../model/errors.ts";

/** How a client shows an authorization server who it is. */
export type AuthMethod = "client_secret_basic" | "client_secret_post" | "private_key_jwt" | "none";

/** The key of a client: a PKCS #8 text in PEM with its algorithm, or a key of the platform. */
export type ClientKey = CryptoKey | { readonly pem: string; readonly algorithm: string; readonly keyId?: string };

/** A client as an authorization server knows it. */
export interface ClientIdentity {
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  readonly privateKey?: ClientKey | undefined;
  /** Default: by what the authorization server says it takes. */
  readonly method?: string | undefined;
}

const methods: ReadonlySet<string> = new Set(["client_secret_basic", "client_secret_post", "private_key_jwt", "none"]);

/** The way to authenticate at a token endpoint. Rejects with `unsupported` when there is none. */
export async function clientAuthOf(identity: ClientIdentity, server: AuthorizationServer): Promise<ClientAuth> {
  const method = methodOf(identity, server);
  const { clientSecret = "", privateKey } = identity;
  switch (method) {
    case "client_secret_basic":
      return basic(clientSecret);
    case "client_secret_post":
      return ClientSecretPost(clientSecret);
    case "private_key_jwt":
      if (privateKey === undefined)
        throw new McpError("unsupported", "the client was registered with a key it has not");
      return PrivateKeyJwt(await importKey(privateKey));
    case "none":
      return None();
    default:
      throw new McpError("unsupported", "the client was registered with a way to authenticate that is not known here");
  }
}

/** Form-encoded as RFC 6749 wants it, and no more than that: many servers do not decode what they get. */
function basic(clientSecret: string): ClientAuth {
  return (_server, { client_id: clientId }, _body, headers) => {
    const [name, secret] = [clientId, clientSecret].map((text) =>
      new URLSearchParams({ "": text }).toString().slice(1),
    );
    headers.set("authorization", `Basic ${btoa(`${name}:${secret}`)}`);
  };
}

function methodOf({ method, clientSecret, privateKey }: ClientIdentity, server: AuthorizationServer): string {
  if (method !== undefined) return methods.has(method) ? method : "unknown";
  if (privateKey !== undefined) return "private_key_jwt";
  if (clientSecret === undefined) return "none";
  // Who lists nothing takes Basic (RFC 8414).
  const { token_endpoint_auth_methods_supported: listed = ["client_secret_basic"] } = server;
  return !listed.includes("client_secret_basic") && listed.includes("client_secret_post")
    ? "client_secret_post"
    : "client_secret_basic";
}

async function importKey(key: ClientKey): Promise<CryptoKey | { key: CryptoKey; kid: string }> {
  if (!("pem" in key)) return key;
  try {
    const imported = await importPKCS8(key.pem, key.algorithm);
    return key.keyId === undefined ? imported : { key: imported, kid: key.keyId };
  } catch {
    // What the platform says of it may repeat it.
    throw new McpError("invalid-params", "the private key is no PKCS #8 key for its algorithm");
  }
}
