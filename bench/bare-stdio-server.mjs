// A bare server on stdio, for clients to start.
import { stdio } from "./peers/bare.mjs";

stdio();
