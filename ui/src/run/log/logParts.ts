/** The parts of a line of a log that look alike or lead to an address. */
import Anser from "anser";

export interface Part {
  text: string;
  look: string;
  /** Colours that no name of `tokens.css` has: of the text, and of the ground below it. */
  ink?: string;
  ground?: string;
  /** The whole address that it is a part of. */
  address?: string;
}

/** The parts of a line by its marks of colours. */
export function partsOf(text: string): Part[] {
  if (!text.includes("\u001b")) return [{ text, look: "" }];
  return Anser.ansiToJson(text, { use_classes: true, remove_empty: true }).map((part) => {
    const ink = colorOf(part.fg, part.fg_truecolor);
    const ground = colorOf(part.bg, part.bg_truecolor);
    const looks = [ink ? "ink" : part.fg, ground && "ground", ...part.decorations.map((each) => `ansi-${each}`)];
    return {
      text: part.content,
      look: looks.filter(Boolean).join(" "),
      ...(ink && { ink }),
      ...(ground && { ground }),
    };
  });
}

const PALETTE = "ansi-palette-";

/** One of 256 or of 16 million colours; the named ones are the theme's. */
function colorOf(name: string | null, exact: string | null): string | undefined {
  if (name === "ansi-truecolor") return exact ? `rgb(${exact})` : undefined;
  if (!name?.startsWith(PALETTE)) return undefined;
  const place = Number(name.slice(PALETTE.length)) - 16;
  if (place >= 216)
    return `rgb(${Array(3)
      .fill(8 + 10 * (place - 216))
      .join(", ")})`;
  const parts = [Math.floor(place / 36), Math.floor(place / 6) % 6, place % 6];
  return `rgb(${parts.map((part) => (part === 0 ? 0 : 55 + 40 * part)).join(", ")})`;
}

const ADDRESS = /https?:\/\/[^\s"'<>`\\^{|}]*[^\s"'<>`\\^{|}.,;:!?()[\]]/g;

/** What is shown of a line, from one character to another; addresses are parts of their own. */
export function shownOf(parts: readonly Part[], from: number, to: number): Part[] {
  const whole = parts.map(({ text }) => text).join("");
  const addresses = [...whole.matchAll(ADDRESS)].map((found) => ({
    begin: found.index,
    end: found.index + found[0].length,
    address: found[0],
  }));
  const cuts = addresses.flatMap(({ begin, end }) => [begin, end]);
  let passed = 0;
  return parts.flatMap((part) => {
    const begin = Math.max(passed, from);
    const end = Math.min(passed + part.text.length, to);
    const start = passed;
    passed += part.text.length;
    if (begin >= end) return [];
    const edges = [begin, ...cuts.filter((cut) => cut > begin && cut < end), end];
    return edges.slice(1).map((edge, place) => {
      const at = edges[place] ?? begin;
      const address = addresses.find((each) => each.begin <= at && edge <= each.end)?.address;
      return { ...part, text: part.text.slice(at - start, edge - start), ...(address && { address }) };
    });
  });
}
