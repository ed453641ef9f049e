/** Where the metadata of a protected resource may be (RFC 9728), in the order to look: for its path, then for its origin. */
export function resourceMetadataUrls(server: URL): readonly URL[] {
  const { origin } = server;
  const path = withoutTrailingSlash(server.pathname);
  const root = new URL("/.well-known/oauth-protected-resource", origin);
  if (path === "" && server.search === "") return [root];
  return [new URL(`/.well-known/oauth-protected-resource${path}${server.search}`, origin), root];
}

/**
 * Where the metadata of an authorization server may be, in the order to look:
 * RFC 8414, then OpenID Connect. What is at the root is never that of an issuer
 * with a path.
 */
export function serverMetadataUrls(issuer: URL): readonly URL[] {
  const { origin } = issuer;
  const path = withoutTrailingSlash(issuer.pathname);
  const at = (location: string): URL => new URL(location, origin);
  if (path === "") {
    return [at("/.well-known/oauth-authorization-server"), at("/.well-known/openid-configuration")];
  }
  return [
    at(`/.well-known/oauth-authorization-server${path}`),
    at(`/.well-known/openid-configuration${path}`),
    at(`${path}/.well-known/openid-configuration`),
  ];
}

/** Whether what metadata says of a resource is about this server: its URL, or one above it. */
export function isResourceOf(resource: string, server: URL): boolean {
  if (!URL.canParse(resource)) return false;
  const { origin, pathname, search, hash } = new URL(resource);
  if (origin !== server.origin || hash !== "" || resource.includes("#")) return false;
  const path = withoutTrailingSlash(pathname);
  const own = withoutTrailingSlash(server.pathname);
  if (search !== "") return path === own && search === server.search;
  return own === path || own.startsWith(`${path}/`);
}

/** The URL of a server as an identifier: no fragment, no trailing slash. */
export function canonicalUrl({ origin, pathname, search }: URL): string {
  return `${origin}${withoutTrailingSlash(pathname)}${search}`;
}

function withoutTrailingSlash(path: string): string {
  return path.endsWith("/") ? path.slice(0, -1) : path;
}
