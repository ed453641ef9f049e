/** What one who has this address is given as a whole: of IPv6 that is the first half, of which it is free to use any address. */
export function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const [, mapped] = /^::ffff:([\d.]+)$/i.exec(address) ?? [];
  if (mapped !== undefined) return mapped;
  const [before = "", after = ""] = address.replace(/%.*/, "").split("::");
  const [first, last] = [groupsOf(before), groupsOf(after)];
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => "0");
  return `${[...first, ...zeros, ...last].slice(0, 4).join(":")}::/64`;
}

/** Without leading zeros, in lower case. */
function groupsOf(part: string): readonly string[] {
  if (part === "") return [];
  return part.split(":").map((group) => group.toLowerCase().replace(/^0+(?=.)/, ""));
}
