const UNITS = ["B", "kB", "MB", "GB", "TB"];

/** A size with three digits at most: `812 kB`, `1.4 GB`. */
export function bytes(size: number): string {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(1, size)) / 3));
  const value = size / 1000 ** power;
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${UNITS[power]}`;
}
