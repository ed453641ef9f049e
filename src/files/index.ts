export { safePath } from "./safe-path.ts";
