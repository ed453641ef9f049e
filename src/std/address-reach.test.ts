import { describe, expect, it } from "vitest";
import { reachOfAddress, reachOfHost } from "./address-reach.ts";

const hostOf = (url: string): string => new URL(url).hostname;

describe("how far away a host is", () => {
  it.each([
    "http://localhost",
    "http://LOCALHOST.",
    "http://a.localhost",
    "http://127.0.0.1",
    "http://127.9.9.9",
    "http://[::1]",
    "http://2130706433",
    "http://0x7f.1",
    "http://[::ffff:127.0.0.1]",
    "http://[::127.0.0.1]",
    "http://[64:ff9b::7f00:1]",
  ])("%s is this machine", (url) => {
    expect(reachOfHost(hostOf(url))).toBe("loopback");
  });

  it.each([
    "http://10.1.2.3",
    "http://172.16.0.1",
    "http://172.31.255.255",
    "http://192.168.1.1",
    "http://169.254.169.254",
    "http://100.64.0.1",
    "http://100.127.255.255",
    "http://0.0.0.0",
    "http://224.0.0.1",
    "http://255.255.255.255",
    "http://198.18.0.1",
    "http://192.0.2.1",
    "http://[::]",
    "http://[fe80::1]",
    "http://[fd00::1]",
    "http://[fc00::1]",
    "http://[ff02::1]",
    "http://[fec0::1]",
    "http://[2001:db8::1]",
    "http://[2001::1]",
    "http://[::ffff:10.0.0.1]",
    "http://[::ffff:a9fe:a9fe]",
    "http://[64:ff9b::a9fe:a9fe]",
    "http://[2002:a00:1::]",
    "http://[::ffff:0:10.0.0.1]",
    "http://[100::1]",
    "http://metadata.google.internal",
    "http://printer.local",
    "http://0251.0376.0251.0376",
    "http://2852039166",
  ])("%s is on a private network", (url) => {
    expect(reachOfHost(hostOf(url))).toBe("private");
  });

  it.each([
    "https://example.com",
    "https://8.8.8.8",
    "https://172.32.0.1",
    "https://100.128.0.1",
    "https://[2606:4700::1111]",
    "https://[2002:808:808::]",
    "https://localhost.evil.example",
    "https://internal.example",
  ])("%s may be anywhere", (url) => {
    expect(reachOfHost(hostOf(url))).toBe("public");
  });

  it.each([
    "",
    "x",
    "1.2.3",
    "1.2.3.4.5",
    "999.1.1.1",
    ":::",
    "1::2::3",
    "12345::",
    "g::",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
  ])("%j is no address, so it is not asked", (address) => {
    expect(reachOfAddress(address)).toBe("private");
  });

  it("is not changed by a zone", () => {
    expect(reachOfAddress("fe80::1%eth0")).toBe("private");
    expect(reachOfAddress("::1")).toBe("loopback");
  });
});
