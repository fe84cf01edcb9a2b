/** A file that a task handed on, which the log store has. */
export type Handed = { name: string; size: number };

/** The file that a value stands for; null = it stands for none. */
export function handedOf(value: string): Handed | null {
  if (!value.startsWith('{"shoal_file":')) return null;
  try {
    const found: Partial<Handed> = JSON.parse(value);
    return typeof found.name === "string" && typeof found.size === "number"
      ? { name: found.name, size: found.size }
      : null;
  } catch {
    return null;
  }
}
