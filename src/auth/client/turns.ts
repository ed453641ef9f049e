/** Lets one task after the other run. */
export interface Turns {
  /**
   * Runs `task` in its turn. Who asks for the same, by its name, before that is
   * over gets the same outcome, also when it fails.
   */
  once(name: string, task: () => Promise<void>): Promise<void>;
}

export function createTurns(): Turns {
  const open = new Map<string, Promise<void>>();
  let last: Promise<void> = Promise.resolve();

  return {
    once(name, task) {
      const under = open.get(name);
      if (under !== undefined) return under;
      const turn = last.then(task).finally(() => open.delete(name));
      last = turn.catch(() => {});
      open.set(name, turn);
      return turn;
    },
  };
}
