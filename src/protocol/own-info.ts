import type { Implementation } from "./peer.ts";

/** What this package says of itself to peers, where its user says nothing else. The version is that of `package.json`. */
export const ownInfo: Implementation = { name: "plugbay", version: "0.1.0" };
