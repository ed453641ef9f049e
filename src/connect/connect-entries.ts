import { nodePlatform } from "./connect.ts";
import { type Connect, createConnect, createDial, type Dial, type Platform } from "./create-connect.ts";

const platform: Platform = {
  ...nodePlatform,
  // The code that turns such an entry into a server is loaded on first use.
  async openEntry(entry, options) {
    const { openEntry } = await import("./open-entry.ts");
    return openEntry(entry, options);
  },
};

/** Connects like `connect`, and to documents and modules of configuration files as well. */
export const connectEntry: Connect = createConnect(platform);

/** What {@link connectEntry} stands on. */
export const dialEntry: Dial = createDial(platform);
