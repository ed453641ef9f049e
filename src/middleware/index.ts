/// <reference path="../index.ts" preserve="true" />
export { type RateLimitOptions, rateLimit } from "./rate-limit.ts";
