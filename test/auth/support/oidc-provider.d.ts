/** As much of the package as is used here; it has no types of its own. */
declare module "oidc-provider" {
  import type { IncomingMessage, ServerResponse } from "node:http";

  interface AccessToken {
    readonly aud?: string | readonly string[];
    readonly scope?: string;
    readonly jkt?: string;
    readonly grantId?: string;
    readonly isValid: boolean;
    destroy(): Promise<void>;
  }

  interface Context {
    readonly oidc: { readonly params?: Readonly<Record<string, string>> };
    readonly headers: Readonly<Record<string, string | undefined>>;
    /** The answer. */
    readonly body?: unknown;
  }

  export class Provider {
    constructor(issuer: string, configuration: object);
    callback(): (request: IncomingMessage, response: ServerResponse) => void;
    on(event: string, listener: (context: Context) => void): this;
    readonly AccessToken: { find(token: string): Promise<AccessToken | undefined> };
    readonly Client: { find(id: string): Promise<object | undefined> };
    readonly RefreshToken: {
      find(token: string): Promise<AccessToken | undefined>;
      revokeByGrantId(id: string): Promise<void>;
    };
    readonly ClientCredentials: { find(token: string): Promise<AccessToken | undefined> };
  }
}
