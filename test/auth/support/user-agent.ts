/** What a page says of its form, as a browser would send it. */
function formIn(page: string): { readonly action: string; readonly fields: Record<string, string> } | undefined {
  const [, action] = /<form[^>]+action="([^"]+)"/.exec(page) ?? [];
  const hidden = page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]+)"/g);
  const fields = Object.fromEntries([...hidden].map(([, name = "", value = ""]) => [name, plain(value)]));
  return action === undefined ? undefined : { action: plain(action), fields };
}

function plain(text: string): string {
  return text.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
}

export interface UserOptions {
  readonly login?: string;
  /** What the user says on a page that asks for consent. */
  readonly decision?: "allow" | "deny";
  /** Sent with every first request, such as what a browser says of where a navigation comes from. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a user sees in the end. */
export interface Visit {
  readonly url: URL;
  readonly response: Response;
  /** Where it leads. */
  readonly location: string | null;
  readonly page: string;
}

/**
 * A user with a browser of a few lines: keeps cookies, fills in forms, follows
 * redirects, and says where that led in the end.
 */
export function createUser({ login = "ann", decision = "allow", headers = {} }: UserOptions = {}) {
  const cookies = new Map<string, string>();
  const titles: string[] = [];
  let pages = 0;

  const visit = async (url: URL, form?: URLSearchParams): Promise<Response> => {
    const response = await fetch(url, {
      method: form === undefined ? "GET" : "POST",
      redirect: "manual",
      headers: {
        ...headers,
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; "),
        ...(form !== undefined && { origin: url.origin }),
      },
      ...(form !== undefined && { body: form }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === "") cookies.delete(name);
      else cookies.set(name, value);
    }
    return response;
  };

  /** Goes on from a URL, for as long as there is a way and `stop` does not say that this is far enough. */
  const browse = async (start: URL, stop: (at: Visit) => boolean): Promise<Visit> => {
    let [url, form]: [URL, URLSearchParams | undefined] = [start, undefined];
    for (let step = 0; step < 20; step++) {
      const response = await visit(url, form);
      const location = response.headers.get("location");
      const page = location === null ? await response.text() : "";
      const at = { url, response, location, page };
      if (stop(at)) return at;
      if (location !== null) {
        [url, form] = [new URL(location, url), undefined];
        continue;
      }
      const found = formIn(page);
      if (found === undefined) return at;
      pages++;
      titles.push(/<title>([^<]*)/.exec(page)?.[1] ?? "");
      const asked = page.includes('name="decision"') ? { decision } : { login, password: "any" };
      [url, form] = [new URL(found.action, url), new URLSearchParams({ ...found.fields, ...asked })];
    }
    throw new Error("the way to sign in never ends");
  };

  /** Signs in and agrees, until the way leads to where the application waits. */
  const authorize = async (start: URL, { redirectUri }: { readonly redirectUri: string }): Promise<string> => {
    const { location, response, page } = await browse(start, (at) => at.location?.startsWith(redirectUri) === true);
    if (location === null) throw new Error(`nothing to fill in: ${response.status} ${page.slice(0, 500)}`);
    return location;
  };

  return {
    authorize,
    browse,
    visit,
    cookies,
    /** The titles of the pages with forms. */
    titles,
    /** How many pages the user has filled in. */
    get pages() {
      return pages;
    },
  };
}
