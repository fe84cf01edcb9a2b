import { useTranslation } from "react-i18next";
import { styleOf } from "./State";

const MARKS_MAX = 60;

/** The tasks of a run as a school: one mark a task, in order; above 60 tasks one mark for each share. */
export function School({ states }: { states: Record<string, number> }) {
  const { t } = useTranslation("parts");
  const all = Object.entries(states).filter(([, count]) => count > 0);
  const total = all.reduce((sum, [, count]) => sum + count, 0);
  const said = all.map(([state, count]) => `${count} ${t(`state.${state}`, { defaultValue: state })}`).join(", ");
  return (
    <span className="seg" role="img" aria-label={said} title={said}>
      {marksOf(all, total).map((state, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a mark is its place
        <i key={place} data-s={styleOf(state)} />
      ))}
    </span>
  );
}

/** The states of the marks, in order of `all`; each state that occurs has one mark at least. */
export function marksOf(all: [string, number][], total: number): string[] {
  const scale = total > MARKS_MAX ? MARKS_MAX / total : 1;
  return all.flatMap(([state, count]) => Array<string>(Math.max(1, Math.round(count * scale))).fill(state));
}
