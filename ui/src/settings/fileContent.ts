/** The contents of files as the API has them: in Base64. */

/** What a file may have, in bytes; the API says it of the Base64. */
export const BYTES_MAX = 2_097_152;
const PART = 32_768;

/** The content of a file. Raises what the browser does if it cannot be read. */
export async function base64Of(file: Blob): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  // Not at once: a function takes only so many arguments.
  for (let at = 0; at < bytes.length; at += PART) text += String.fromCharCode(...bytes.subarray(at, at + PART));
  return btoa(text);
}

/** The bytes of a content. */
export function bytesOf(content: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(content), (each) => each.charCodeAt(0));
}
