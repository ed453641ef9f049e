import { createSafeFetch, type Hop, type SafeFetch } from "../safe-fetch.ts";

export interface FetchForOptions {
  /** Whether what an issuer names may be on a private network. Default false. */
  readonly allowPrivateNetwork?: boolean | undefined;
  /** Default: that of every platform. */
  readonly hop?: Hop | undefined;
}

/** Fetches what an issuer names. Hosts that the operator names may be on a private network. */
export function fetchFor(named: readonly (string | undefined)[], options: FetchForOptions): SafeFetch {
  const { allowPrivateNetwork = false, hop } = options;
  const hosts = named.flatMap((url) =>
    url !== undefined && URL.canParse(url) ? [new URL(url).hostname.toLowerCase()] : [],
  );
  return createSafeFetch({ hop, allowPrivateNetwork: allowPrivateNetwork || hosts });
}
