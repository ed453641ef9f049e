export { type RateLimitOptions, rateLimit } from "./rate-limit.ts";
