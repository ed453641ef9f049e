/**
 * A user with a browser of a few lines: keeps cookies, fills in forms, follows
 * redirects, and says where that led in the end.
 */
export function createUser() {
  const cookies = new Map<string, string>();
  let pages = 0;

  const visit = async (url: URL, form?: URLSearchParams): Promise<Response> => {
    const response = await fetch(url, {
      method: form === undefined ? "GET" : "POST",
      redirect: "manual",
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
      ...(form !== undefined && { body: form }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === "") cookies.delete(name);
      else cookies.set(name, value);
    }
    return response;
  };

  /** Signs in and agrees, until the way leads to where the application waits. */
  const authorize = async (start: URL, { redirectUri }: { readonly redirectUri: string }): Promise<string> => {
    let [url, form]: [URL, URLSearchParams | undefined] = [start, undefined];
    for (let step = 0; step < 20; step++) {
      const response = await visit(url, form);
      const location = response.headers.get("location");
      if (location?.startsWith(redirectUri)) return location;
      if (location !== null) {
        [url, form] = [new URL(location, url), undefined];
        continue;
      }
      pages++;
      const page = await response.text();
      const [, action] = /<form[^>]+action="([^"]+)"/.exec(page) ?? [];
      if (action === undefined) throw new Error(`nothing to fill in: ${response.status} ${page.slice(0, 500)}`);
      const [, prompt = ""] = /name="prompt" value="([^"]+)"/.exec(page) ?? [];
      [url, form] = [new URL(action, url), new URLSearchParams({ prompt, login: "ann", password: "any" })];
    }
    throw new Error("the way to sign in never ends");
  };

  return {
    authorize,
    /** How many pages the user has filled in. */
    get pages() {
      return pages;
    },
  };
}
