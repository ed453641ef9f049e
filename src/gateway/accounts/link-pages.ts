import { escapeHtml, layout, pageAnswer } from "../../auth/proxy/pages.ts";
import type { RouteAnswer } from "../../protocol/authenticator.ts";
import type { Ticket } from "./account-records.ts";
import { linkPath } from "./links.ts";
import type { ServerCredentials } from "./vault-options.ts";

interface LinkPage {
  readonly ticket: Ticket;
  readonly given: ServerCredentials;
  /** What the form sends back. */
  readonly form: string;
  /** True where it was found out who uses the browser. */
  readonly isIdentified: boolean;
  readonly headers: Readonly<Record<string, string>>;
}

/** The page on which a user sees what is about to be connected to whom, and says yes or no. */
export function linkPage({ ticket, given, form, isIdentified, headers }: LinkPage): RouteAnswer {
  const { server, url, who, principal } = ticket;
  const { host } = new URL(url);
  const name = principal === who ? "" : `<br><code>${escapeHtml(principal)}</code>`;
  const warning = isIdentified
    ? ""
    : `<p class="note">Continue only if you are ${escapeHtml(who)} and have just asked for this yourself. If somebody sent you this address, close the page: they would be able to use your account at ${escapeHtml(host)}.</p>`;
  const body = `<h1>Connect your account at <strong>${escapeHtml(server)}</strong>?</h1>
<dl>
<dt>For the user of this gateway</dt><dd><strong>${escapeHtml(who)}</strong>${name}</dd>
<dt>Server</dt><dd>${escapeHtml(server)}<br><code>${escapeHtml(host)}</code></dd>
<dt>This gateway may then</dt><dd>use your account there, when ${escapeHtml(who)} calls that server</dd>
</dl>
${warning}<form method="post" action="${escapeHtml(linkPath(server))}">
<input type="hidden" name="link" value="${escapeHtml(form)}">
${given.kind === "key" ? keyField(given.help) : ""}<button name="decision" value="allow" class="main">${given.kind === "key" ? "Connect" : `Continue to ${escapeHtml(host)}`}</button>
<button name="decision" value="deny">Cancel</button>
</form>`;
  return pageAnswer(200, layout(`Connect ${server} for ${who}?`, body), headers);
}

function keyField(help: string | undefined): string {
  const text = help === undefined ? "" : `<p class="quiet">${escapeHtml(help)}</p>`;
  return `<p><label>Your key<br><input type="password" name="key" autocomplete="off" required maxlength="4096"></label></p>${text}
`;
}

/** The page of a user who is done. */
export function donePage(title: string, text: string): RouteAnswer {
  return pageAnswer(200, layout(title, `<h1>${escapeHtml(title)}</h1><p>${escapeHtml(text)}</p>`));
}
