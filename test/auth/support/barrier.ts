/** Lets nobody pass until so many are there. */
export function barrier(count: number): () => Promise<void> {
  let missing = count;
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return () => {
    if (--missing <= 0) open();
    return opened;
  };
}
