import { createSafeFetch, type SafeFetch } from "../safe-fetch.ts";

/** Fetches what an issuer names. Hosts that the operator names may be on a private network. */
export function fetchFor(named: readonly (string | undefined)[], allowPrivateNetwork = false): SafeFetch {
  const hosts = named.flatMap((url) =>
    url !== undefined && URL.canParse(url) ? [new URL(url).hostname.toLowerCase()] : [],
  );
  return createSafeFetch({ allowPrivateNetwork: allowPrivateNetwork || hosts });
}
