import { unauthorized } from "../../auth/client/problems.ts";

/** The tokens that callers have come with last, for an issuer that exchanges them. In memory only. */
export interface SubjectTokens {
  remember(owner: string, source: (() => Promise<string>) | undefined): void;
  tokenOf(owner: string): () => Promise<string>;
}

/** More callers than one process serves at a time. */
const MAX_CALLERS = 10_000;

export function createSubjectTokens(): SubjectTokens {
  /** Those that were not heard of for longest are first. */
  const sources = new Map<string, () => Promise<string>>();
  return {
    remember(owner, source) {
      sources.delete(owner);
      if (source === undefined) return;
      const [oldest] = sources.keys();
      if (sources.size >= MAX_CALLERS && oldest !== undefined) sources.delete(oldest);
      sources.set(owner, source);
    },
    tokenOf: (owner) => async () => {
      const source = sources.get(owner);
      if (source !== undefined) return source();
      throw unauthorized("subject-token-expired", "the caller came without a token that can be exchanged");
    },
  };
}
