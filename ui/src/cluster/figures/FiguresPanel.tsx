import { useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { useTranslation } from "react-i18next";
import { Answer } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";
import { clock, count, duration } from "@/parts/time";
import { figures } from "../queries";
import { useIsShown } from "../slots/useIsShown";
import { CHARTS, type Chart, type Figures, HEIGHT, lastOf, pathOf, rangeOf, topOf, WIDTH } from "./series";

const FAST_S = 1;

/** How much the cluster does and what waits, over the last hour in which somebody watched. */
export function FiguresPanel() {
  const { t, i18n } = useTranslation("cluster");
  const box = useRef<HTMLDivElement>(null);
  const isShown = useIsShown(box);
  const found = useQuery({
    ...figures,
    enabled: isShown,
    refetchInterval: (query) => (query.state.data === undefined ? false : query.state.data.every_s * 1_000),
  });
  const first = found.data?.items[0];
  return (
    <div ref={box}>
      <Panel title={t("figures")} remark={first && t("figuresSince", { at: clock(first.at, i18n.language) })}>
        <Answer of={found} lines={4}>
          {({ items, every_s }) => (
            <div className="figures">
              {CHARTS.map((each) => (
                <SmallChart key={each.name} chart={each} samples={items} everyS={every_s} />
              ))}
            </div>
          )}
        </Answer>
      </Panel>
    </div>
  );
}

function SmallChart({ chart, samples, everyS }: { chart: Chart; samples: Figures[]; everyS: number }) {
  const { t } = useTranslation("cluster");
  const { name, lines, unit } = chart;
  const top = topOf(samples, lines);
  const now = lines.map((line) => {
    const value = lastOf(samples, line);
    return t(`figure.${name}.${line}` as never, { value: value === null ? "–" : withUnit(value, unit) });
  });
  const ranges = lines.map((line) => {
    const range = rangeOf(samples, line);
    const words =
      range === null
        ? t("figureUnknown")
        : t("figureRange", { from: withUnit(range[0], unit), to: withUnit(range[1], unit) });
    return t(`figure.${name}.${line}` as never, { value: words });
  });
  return (
    <figure className="small-chart">
      <figcaption>
        <span className="mute">{t(`figure.${name}`)}</span>
        <b>{now[0]}</b>
        {now[1] !== undefined && <span className="soft second">{now[1]}</span>}
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${t(`figure.${name}`)}: ${ranges.join(", ")}`}
      >
        {[...lines].reverse().map((line) => (
          <path key={line} d={pathOf(samples, line, top, everyS)} data-line={lines.indexOf(line)} />
        ))}
      </svg>
      <span className="top-value num" aria-hidden>
        {withUnit(top, unit)}
      </span>
    </figure>
  );
}

/** A value with its unit: `12.4 /s`, `1 284`, `38 ms`, `4 m 12 s`. */
function withUnit(value: number, unit: Chart["unit"]): string {
  if (unit === "number") return count(Math.round(value));
  if (unit === "perSecond") return `${value < 10 ? value.toFixed(1) : count(Math.round(value))} /s`;
  if (value === 0) return "0 s";
  return value < FAST_S ? `${Math.round(value * 1000)} ms` : duration(value);
}
