import { escapeHtml, layout } from "./pages.ts";

/** What a user is asked to agree to. All names and URIs of the client are texts of a stranger: escape them in HTML. */
export interface ConsentRequest {
  readonly client: {
    readonly id: string;
    /** As the client calls itself. */
    readonly name: string;
    /** The host that vouches for the client: that of its metadata document. Clients that have registered themselves have none. */
    readonly host: string | undefined;
  };
  /** Where the user, and with them the access, goes afterwards. */
  readonly redirectUri: string;
  /** Its host; for an application with a scheme of its own, that scheme. */
  readonly redirectHost: string;
  /** Whether that is a program on the user's own machine, which any program there can claim to be. */
  readonly isLoopback: boolean;
  /** Scopes of this server that the client gets. */
  readonly scopes: readonly string[];
  /** This server. */
  readonly resource: string;
  /** Where the user signs in next, and what this server asks for there. */
  readonly provider: { readonly name: string; readonly scopes: readonly string[] };
  /**
   * The form that the page has to post to `action`: with `fields` as hidden inputs, and `decision`, which is `allow` or
   * `deny`.
   */
  readonly form: { readonly action: string; readonly fields: Readonly<Record<string, string>> };
}

/** Makes the HTML of the page on which users agree. Scripts do not run on it. */
export type ConsentPage = (request: ConsentRequest) => string | Promise<string>;

/** The page that is shown unless `consentPage` makes another one. */
export const defaultConsentPage: ConsentPage = (request) => {
  const { client, redirectHost, redirectUri, isLoopback, scopes, resource, provider, form } = request;
  const server = new URL(resource).host;
  const origin =
    client.host === undefined
      ? "It has registered itself: nobody has checked its name."
      : `Published by ${client.host}`;
  const destination = isLoopback ? `a program on this computer (${redirectHost})` : redirectHost;
  const warning = isLoopback
    ? `<p class="note">Any program on this computer can ask for this. Continue only if you have just started to sign in yourself.</p>`
    : "";
  const fields = Object.entries(form.fields).map(
    ([name, value]) => `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`,
  );
  return layout(
    `Allow ${client.name} to use ${server}?`,
    `<h1>Allow <strong>${escapeHtml(client.name)}</strong> to use <strong>${escapeHtml(server)}</strong>?</h1>
<p class="quiet">${escapeHtml(origin)}</p>
<dl>
<dt>It may</dt><dd>${listOf(scopes, "use this server in your name")}</dd>
<dt>You go back to</dt><dd>${escapeHtml(destination)}<br><code>${escapeHtml(redirectUri)}</code></dd>
<dt>You sign in with</dt><dd>${escapeHtml(provider.name)}, which lets ${escapeHtml(server)} use ${listOf(provider.scopes, "your account")}</dd>
</dl>
${warning}<form method="post" action="${escapeHtml(form.action)}">
${fields.join("\n")}
<button name="decision" value="allow" class="main">Continue with ${escapeHtml(provider.name)}</button>
<button name="decision" value="deny">Cancel</button>
</form>`,
  );
};

function listOf(items: readonly string[], none: string): string {
  if (items.length === 0) return escapeHtml(none);
  return `<ul>${items.map((item) => `<li><code>${escapeHtml(item)}</code></li>`).join("")}</ul>`;
}
