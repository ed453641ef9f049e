import { it } from "vitest";
import { attack, expectCalm } from "./support/attack.ts";

// Clients that send much, slowly, or what becomes much larger when it is read.

it.each([
  "half-sent bodies",
  "half-sent chunked bodies",
  "bodies in tiny pieces",
  "wide bodies",
  "bodies as wide as allowed",
])("%s: memory is bounded, and others are answered (S3)", async (name) => expectCalm(await attack(name)));
