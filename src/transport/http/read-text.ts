/** The text of a body, or the status that refuses it. */
export type ReadText = { readonly text: string } | { readonly status: number; readonly problem: string };

/** Reads the body of a request of the Fetch standard, within a limit. */
export async function readText(request: Request, maxBytes: number): Promise<ReadText> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const reader = request.body?.getReader();
  if (reader === undefined) return { text: "" };
  let text = "";
  let size = 0;
  try {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      size += chunk.value.byteLength;
      if (size > maxBytes) {
        reader.cancel().catch(() => {});
        return { status: 413, problem: `the body is too large; send at most ${maxBytes} bytes` };
      }
      text += decoder.decode(chunk.value, { stream: true });
    }
    return { text: text + decoder.decode() };
  } catch {
    return { status: 400, problem: "the body cannot be read as UTF-8" };
  }
}
