/**
 * What makes a terminal show an image, where it is one that can: kitty and its like, iTerm2 and its like. Undefined for
 * all others. The data is base64.
 */
export function imageSequence(
  data: string,
  mimeType: string,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  if (!/^[A-Za-z\d+/=]*$/.test(data)) return undefined;
  // A multiplexer would swallow it.
  if (env.TMUX !== undefined || env.STY !== undefined) return undefined;
  const { TERM = "", TERM_PROGRAM = "" } = env;
  if (TERM_PROGRAM === "iTerm.app" || TERM_PROGRAM === "WezTerm") return `\u001b]1337;File=inline=1:${data}\u0007`;
  const isKitty = TERM === "xterm-kitty" || TERM === "xterm-ghostty" || TERM_PROGRAM === "ghostty";
  return isKitty && mimeType === "image/png" ? kitty(data) : undefined;
}

const chunkChars = 4096;

function kitty(data: string): string {
  const chunks = data.match(new RegExp(`.{1,${chunkChars}}`, "gs")) ?? [];
  return chunks
    .map((chunk, index) => {
      const more = index === chunks.length - 1 ? 0 : 1;
      return `\u001b_G${index === 0 ? "a=T,f=100," : ""}m=${more};${chunk}\u001b\\`;
    })
    .join("");
}
