/**
 * Where tokens and registrations are kept: texts by name. What is in them is
 * secret. Three methods are enough for one of your own.
 */
export interface TokenStore {
  get(name: string): Promise<string | undefined>;
  set(name: string, text: string): Promise<void>;
  delete(name: string): Promise<void>;
  /**
   * Runs `task` while nobody else who keeps tokens in the same place runs one
   * under this name. Left out, only this process is looked after.
   */
  exclusive?<T>(name: string, task: () => Promise<T>): Promise<T>;
}

/** Keeps tokens in memory: they are gone with the process. */
export function memoryTokens(): TokenStore {
  const texts = new Map<string, string>();
  return {
    get: async (name) => texts.get(name),
    async set(name, text) {
      texts.set(name, text);
    },
    async delete(name) {
      texts.delete(name);
    },
  };
}
