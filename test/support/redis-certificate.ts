import { generateKeyPairSync, sign } from "node:crypto";

/** A certificate for 127.0.0.1 that vouches for itself, and its key, in PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export function createCertificate(): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = sequence(set(sequence(commonName, der(0x0c, Buffer.from("test redis")))));
  const validity = sequence(der(0x17, Buffer.from("200101000000Z")), der(0x17, Buffer.from("491231235959Z")));
  const addresses = sequence(der(0x87, Buffer.from([127, 0, 0, 1])));
  const extensions = sequence(sequence(subjectAltName, der(0x04, addresses)));
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    sequence(ecdsaWithSha256),
    name,
    validity,
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, extensions),
  );
  const signature = der(0x03, Buffer.from([0]), sign("sha256", body, privateKey));
  return {
    cert: pem(sequence(body, sequence(ecdsaWithSha256), signature)),
    key: String(privateKey.export({ type: "pkcs8", format: "pem" })),
  };
}

const commonName = der(0x06, Buffer.from("550403", "hex"));
const subjectAltName = der(0x06, Buffer.from("551d11", "hex"));
const ecdsaWithSha256 = der(0x06, Buffer.from("2a8648ce3d040302", "hex"));

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, ...parts);
}

function set(...parts: readonly Buffer[]): Buffer {
  return der(0x31, ...parts);
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const long = length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  const size = length < 128 ? [length] : long;
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function pem(bytes: Buffer): string {
  return `-----BEGIN CERTIFICATE-----\n${bytes.toString("base64").replace(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`;
}
