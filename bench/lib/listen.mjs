/** Listens on any port of this machine only, and tells which. */
export function listen(server) {
  server.keepAliveTimeout = 60_000;
  return new Promise((resolve) => server.listen(0, "127.0.0.1", 16_384, () => resolve(server.address().port)));
}
