import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { styleOf } from "@/parts/State";
import { duration } from "@/parts/time";
import type { Cell, Chain } from "./backfill";
import { localTime } from "./draft";

const HEIGHT_MIN = 14;

/** The chains of a backfill as rows, with a cell for each date: height = how long over the slowest, shape = its state. */
export function BackfillDates({ chains, zone }: { chains: Chain[]; zone: string }) {
  const { t } = useTranslation("schedules");
  const slowest = Math.max(0.001, ...chains.flatMap(({ cells }) => cells.map((cell) => cell.elapsed)));
  const isOne = new Set(chains.map(({ workflow }) => workflow)).size === 1;
  return chains.map(({ key, workflow, cells }, place) => (
    <ol key={key} className="dates" aria-label={isOne ? t("chainOf", { number: place + 1 }) : workflow}>
      {!isOne && <li className="mute cut">{workflow}</li>}
      {cells.map((cell) => (
        <li key={cell.at}>
          <DateCell of={cell} at={localTime(cell.at, zone)} height={cell.elapsed / slowest} />
        </li>
      ))}
    </ol>
  ));
}

/** A date that leads to its run, if it has one. Only a time other than midnight is written out. */
function DateCell({ of, at, height }: { of: Cell; at: string; height: number }) {
  const { t } = useTranslation("parts");
  const [day = "", time = ""] = at.split("T");
  const took = of.run === undefined ? "" : `, ${duration(of.elapsed)}`;
  const said = `${at.replace("T", " ")}: ${t(`state.${of.state}`)}${took}`;
  const shown = (
    <>
      <span className="last">
        <i
          data-s={styleOf(of.state)}
          ref={(bar) => bar?.style.setProperty("--h", `${HEIGHT_MIN + (100 - HEIGHT_MIN) * height}%`)}
        />
      </span>
      <small>{time === "00:00" ? day.slice(5) : `${day.slice(5)} ${time}`}</small>
    </>
  );
  if (of.run === undefined)
    return (
      <span role="img" className="date" aria-label={said} title={said}>
        {shown}
      </span>
    );
  return (
    <Link to="/runs/$id" params={{ id: of.run }} search={{}} className="date" aria-label={said} title={said}>
      {shown}
    </Link>
  );
}
