import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { expect, it, vi } from "vitest";
import { patiently } from "../../../test/support/patience.ts";
import { createManualClock } from "../../testing/clock.ts";
import { createHeartbeat } from "../http/heartbeat.ts";
import { UnreadBody } from "./unread-body.ts";

const heartbeat = createHeartbeat(createManualClock(), 1_000);
const body = "€".repeat(8_000_000);
const bytes = Buffer.byteLength(body);

it("encodes a piece of a long body at a time, as its client reads (B14)", async () => {
  let response: ServerResponse | undefined;
  const server = createServer((_, answer) => {
    response = answer;
    answer.writeHead(200, { "content-length": bytes });
    new UnreadBody(answer, { heartbeat, dropped: () => {} }, body);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.pause();
  socket.write("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
  await vi.waitFor(() => expect(response?.writableNeedDrain).toBe(true), patiently);
  expect(response?.writableLength).toBeLessThan(1_000_000);

  let heard = 0;
  let most = 0;
  socket.on("data", (chunk) => {
    heard += chunk.length;
    most = Math.max(most, response?.writableLength ?? 0);
  });
  socket.resume();
  await once(socket, "close");
  expect(heard).toBeGreaterThan(bytes);
  expect(most).toBeLessThan(1_000_000);
  server.close();
});
