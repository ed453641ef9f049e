import { describe, expect, it } from "vitest";
import { redact } from "./redact.ts";
import { isSecretName, isSecretOption } from "./secret-names.ts";
import { maskArgs } from "./secrets.ts";

/** The names that logs and configuration have to hide alike. */
const names = [
  ...["pwd", "db.pwd", "password", "PGPASSWORD", "passphrase", "passcode", "cookie", "Set-Cookie", "private_key"],
  ...[
    "privateKey",
    "sessionId",
    "mcp-session-id",
    "dsn",
    "SENTRY_DSN",
    "sentryDsn",
    "auth",
    "X-Auth",
    "npm_config__auth",
  ],
  ...["signature", "x-hub-signature", "X-Amz-Signature", "token", "accessToken", "client_secret", "clientSecret"],
  ...["apiKey", "x_api_key", "API key", "appKey", "accountKey", "Authorization", "bearer", "aws.credentials", "jwt"],
  ...["connectionString", "AZURE_STORAGE_CONNECTION_STRING", "otp", "pin", "psk", "sid", "sig", "GITHUB_PAT", "oauth"],
  ...["masterKey", "SharedAccessKey", "signing-key", "encryptionKey"],
];

describe("one list of names of secrets", () => {
  it.each(names)("has %s, in logs as in configuration (H17)", (name) => {
    expect(isSecretName(name)).toBe(true);
    expect(redact({ [name]: "a value" })).toEqual({ [name]: "[REDACTED]" });
    expect(maskArgs([`--${name.replaceAll(" ", "-")}`, "a value"])[1]).toBe("***");
    expect(maskArgs([`${name.replaceAll(" ", "_")}=value`])[0]).toMatch(/=\*\*\*$/);
  });

  it.each(["user", "key", "pass", "sec", "author", "toke", "signal", "pinned", "side", "path", "design", "spinner"])(
    "has not %s",
    (name) => {
      expect(isSecretName(name)).toBe(false);
      expect(redact({ [name]: "a value" })).toEqual({ [name]: "a value" });
    },
  );

  it("has any key, where it is one of a flag, a variable or a header", () => {
    expect(["key", "x-key", "authenticator"].map(isSecretOption)).toEqual([true, true, true]);
    expect(["port", "level"].map(isSecretOption)).toEqual([false, false]);
  });
});
