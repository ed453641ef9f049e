import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCertificate } from "../../support/redis-certificate.ts";

/** A place on this machine, by https, where clients publish their metadata documents. */
export interface DocumentServer extends AsyncDisposable {
  readonly origin: string;
  /** The file with the certificate that has to be trusted. */
  readonly ca: string;
  /** Paths that were asked for, in order. */
  readonly asked: string[];
  /** Publishes a document at a path. Its URL, which is in it as `client_id` unless it says otherwise. */
  publish(path: string, document: object): string;
  /** Sends those who ask for a path elsewhere. */
  redirect(path: string, target: string): string;
}

export async function startDocumentServer(): Promise<DocumentServer> {
  const folder = mkdtempSync(join(tmpdir(), "plugbay-documents-"));
  const { cert, key } = createCertificate();
  const ca = join(folder, "ca.pem");
  writeFileSync(ca, cert);
  const documents = new Map<string, string>();
  const redirects = new Map<string, string>();
  const asked: string[] = [];
  const server = createServer({ cert, key }, ({ url = "" }, response) => {
    asked.push(url);
    const [document, location] = [documents.get(url), redirects.get(url)];
    if (location !== undefined) return void response.writeHead(302, { location }).end();
    response.writeHead(document === undefined ? 404 : 200, { "content-type": "application/json" }).end(document);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    ca,
    asked,
    publish(path, document) {
      documents.set(path, JSON.stringify({ client_id: `${origin}${path}`, ...document }));
      return `${origin}${path}`;
    },
    redirect(path, target) {
      redirects.set(path, target);
      return `${origin}${path}`;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
