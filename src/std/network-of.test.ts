import { expect, it } from "vitest";
import { networkOf } from "./network-of.ts";

it.each([
  ["127.0.0.1", "127.0.0.1"],
  ["::ffff:10.1.2.3", "10.1.2.3"],
  ["::FFFF:10.1.2.3", "10.1.2.3"],
  ["::1", "0:0:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["2001:0DB8:0:0:aaaa::1", "2001:db8:0:0::/64"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8:1:2::", "2001:db8:1:2::/64"],
  ["", ""],
  ["::", "0:0:0:0::/64"],
])("the network of %j is %j", (address, network) => {
  expect(networkOf(address)).toBe(network);
});
