import type { RouteAnswer } from "../../protocol/authenticator.ts";

/**
 * The answer that is a page. Nobody may frame it, and nothing on it runs.
 *
 * `form-action` is left out: browsers apply it to every redirect that follows the form, and those lead to the provider
 * and to the client.
 */
export function pageAnswer(status: number, html: string, headers: Readonly<Record<string, string>> = {}): RouteAnswer {
  return {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy":
        "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' https: data:; base-uri 'none'; frame-ancestors 'none'",
      "x-frame-options": "DENY",
      "x-content-type-options": "nosniff",
      // Without a referrer browsers would post the form with the origin `null`.
      "referrer-policy": "same-origin",
      "cache-control": "no-store",
      ...headers,
    },
    body: html,
  };
}

/** A page that says why signing in ends here. `link` is where the user may go from here, by their own choice. */
export function errorPage(
  status: number,
  message: string,
  link?: { readonly href: string; readonly text: string },
): RouteAnswer {
  const way =
    link === undefined ? "" : `<p><a href="${escapeHtml(link.href)}" rel="noreferrer">${escapeHtml(link.text)}</a></p>`;
  const body = `<h1>Signing in ends here</h1><p>${escapeHtml(message)}</p>${way}`;
  return pageAnswer(status, layout("Signing in ends here", body));
}

/** A page, with the look of all of them. */
export function layout(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`;
}

const style = `
:root { color-scheme: light dark; --text: #1c1e21; --quiet: #5c6370; --page: #f3f4f6; --card: #fff; --line: #d9dce1; --main: #1f5fd6; --on-main: #fff; --note: #fff6dc; --note-line: #e6c55c; }
@media (prefers-color-scheme: dark) { :root { --text: #e8eaed; --quiet: #a0a6b1; --page: #14161a; --card: #1e2127; --line: #363b44; --main: #6ea0ff; --on-main: #10131a; --note: #2c2715; --note-line: #6d5c23; } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1rem; background: var(--page); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
main { width: 100%; max-width: 30rem; padding: 2rem; background: var(--card); border: 1px solid var(--line); border-radius: 12px; overflow-wrap: anywhere; }
h1 { margin: 0 0 .5rem; font-size: 1.35rem; font-weight: 400; line-height: 1.3; }
p { margin: 0 0 1rem; }
.quiet, dt { color: var(--quiet); font-size: .875rem; }
dl { margin: 1.25rem 0; border-top: 1px solid var(--line); }
dt { margin-top: .75rem; }
dd { margin: 0; }
ul { margin: .25rem 0 0; padding-left: 1.25rem; }
code { font: .875em ui-monospace, monospace; color: var(--quiet); }
li code { color: inherit; }
.note { padding: .625rem .875rem; background: var(--note); border: 1px solid var(--note-line); border-radius: 8px; font-size: .9375rem; }
form { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1.5rem; }
button { flex: 1 1 6rem; padding: .625rem 1rem; font: inherit; border: 1px solid var(--line); border-radius: 8px; background: transparent; color: inherit; cursor: pointer; }
button.main { flex: 3 1 14rem; background: var(--main); border-color: var(--main); color: var(--on-main); font-weight: 600; }
button:focus-visible { outline: 3px solid var(--main); outline-offset: 2px; }
`;

/** A text as it can stand in HTML, also in an attribute. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
