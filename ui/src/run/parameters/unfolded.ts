/** A larger value stays as it is: a browser draws no text of megabytes. */
const LENGTH_MAX = 200_000;

/** A JSON object or list with a line for each of its parts, its numbers as they were written; null = it is none. */
export function unfoldedOf(value: string): string | null {
  if (!/^\s*[[{]/.test(value) || value.length > LENGTH_MAX) return null;
  try {
    const found: unknown = JSON.parse(value);
    if (typeof found !== "object" || found === null || Object.keys(found).length === 0) return null;
  } catch {
    return null;
  }
  return linesOf(value);
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g;

/** By its tokens: numbers of more digits than JavaScript has would be others after parsing. */
function linesOf(json: string): string {
  let depth = 0;
  let text = "";
  let before = "";
  const line = () => `\n${"  ".repeat(depth)}`;
  for (const [token] of json.matchAll(TOKEN)) {
    if (token === "{" || token === "[") {
      depth += 1;
      text += token + line();
    } else if (token === "}" || token === "]") {
      depth -= 1;
      text = before === "{" || before === "[" ? text.trimEnd() + token : text + line() + token;
    } else if (token === ",") text += token + line();
    else text += token === ":" ? ": " : token;
    before = token;
  }
  return text;
}
