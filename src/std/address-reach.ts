/** Where an address is: on this machine, on a network of its own, or anywhere. */
export type Reach = "loopback" | "private" | "public";

/**
 * How far away a host is, as far as its name tells: `private` also for names
 * that no public server has. A name that tells nothing counts as `public`; who
 * resolves it judges the address by {@link reachOfAddress}.
 */
export function reachOfHost(hostname: string): Reach {
  const host = hostname.toLowerCase().replace(/\.$/, "");
  if (host.startsWith("[")) return reachOfAddress(host.slice(1, -1));
  if (isIpv4.test(host)) return reachOfAddress(host);
  if (host === "localhost" || host.endsWith(".localhost")) return "loopback";
  return privateNames.some((suffix) => host.endsWith(suffix)) ? "private" : "public";
}

const isIpv4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;
const privateNames: readonly string[] = [".local", ".internal", ".home.arpa", ".lan"];

/** How far away an address is, in the text form of IPv4 or IPv6. What is none counts as `private`. */
export function reachOfAddress(address: string): Reach {
  if (isIpv4.test(address)) return reachOfIpv4(address.split(".").map(Number));
  const groups = readIpv6(address);
  return groups === undefined ? "private" : reachOfIpv6(groups);
}

/** Blocks of IPv4 that are no part of the public network: first address and length of the prefix. */
const privateBlocks: readonly (readonly [number, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
].map(([first, length]) => [toNumber(String(first).split(".").map(Number)), Number(length)] as const);

function reachOfIpv4(bytes: readonly number[]): Reach {
  if (bytes.some((byte) => byte > 255)) return "private";
  if (bytes[0] === 127) return "loopback";
  const value = toNumber(bytes);
  return privateBlocks.some(([first, length]) => sharesPrefix(value, first, length)) ? "private" : "public";
}

function toNumber(bytes: readonly number[]): number {
  return bytes.reduce((sum, byte) => sum * 256 + byte, 0);
}

function sharesPrefix(a: number, b: number, length: number): boolean {
  const size = 2 ** (32 - length);
  return Math.floor(a / size) === Math.floor(b / size);
}

function reachOfIpv6(groups: readonly number[]): Reach {
  const [first = 0, second = 0] = groups;
  if (groups.slice(0, 7).every((group) => group === 0) && groups[7] === 1) return "loopback";
  const inner = embeddedIpv4(groups);
  if (inner !== undefined) return reachOfIpv4(inner);
  // Only 2000::/3 is given out for the public network, and parts of it are for other purposes.
  if (first < 0x2000 || first > 0x3fff) return "private";
  return first === 0x2001 && (second < 0x0200 || second === 0x0db8) ? "private" : "public";
}

/** The address of IPv4 that one of IPv6 stands for: mapped, compatible, translated (NAT64) or tunnelled (6to4). */
function embeddedIpv4(groups: readonly number[]): readonly number[] | undefined {
  const zeros = (from: number, to: number): boolean => groups.slice(from, to).every((group) => group === 0);
  if (zeros(0, 5) && (groups[5] === 0xffff || groups[5] === 0)) return bytesOf(groups.slice(6));
  if (zeros(0, 4) && groups[4] === 0xffff && groups[5] === 0) return bytesOf(groups.slice(6));
  if (groups[0] === 0x64 && groups[1] === 0xff9b) return bytesOf(groups.slice(6));
  return groups[0] === 0x2002 ? bytesOf(groups.slice(1, 3)) : undefined;
}

function bytesOf(groups: readonly number[]): readonly number[] {
  return groups.flatMap((group) => [group >> 8, group & 255]);
}

/** The eight groups of an IPv6 address. Undefined when it is none. */
function readIpv6(text: string): readonly number[] | undefined {
  const [head = "", tail, ...more] = withoutDots(text.replace(/%.*$/, "")).split("::");
  if (more.length > 0) return undefined;
  const left = readGroups(head);
  const right = tail === undefined ? [] : readGroups(tail);
  const missing = 8 - left.length - right.length;
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined;
  const groups = [...left, ...Array.from({ length: missing }, () => 0), ...right];
  return groups.every((group) => group >= 0 && group <= 0xffff) ? groups : undefined;
}

function readGroups(text: string): readonly number[] {
  return text === "" ? [] : text.split(":").map((group) => (/^[\da-f]{1,4}$/i.test(group) ? parseInt(group, 16) : -1));
}

/** The address with its last four bytes as groups, where they were written as in IPv4. */
function withoutDots(text: string): string {
  const [dotted] = /(?<=:)\d+(?:\.\d+){3}$/.exec(text) ?? [];
  if (dotted === undefined) return text;
  const [a = 0, b = 0, c = 0, d = 0] = dotted.split(".").map(Number);
  const groups = [a * 256 + b, c * 256 + d].map((group) => group.toString(16));
  return `${text.slice(0, -dotted.length)}${groups.join(":")}`;
}
