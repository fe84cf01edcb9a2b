import type { UseQueryResult } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { Answer, Empty } from "@/parts/Answer";
import { Heads } from "@/parts/Table";
import { type Asked, rowsOf } from "./backfill";
import { localTime } from "./draft";

/** Rows beyond these are counted, not drawn. */
const ROWS_MAX = 500;

interface Props {
  of: UseQueryResult<Asked>;
  isAsked: boolean;
  params: Record<string, string>;
}

/** Every run that the backfill would be, before it is. */
export function BackfillPreview({ of, isAsked, params }: Props) {
  const { t } = useTranslation("schedules");
  if (!isAsked) return <Empty title={t("sayDates")}>{t("sayDatesHelp")}</Empty>;
  const given = Object.entries(params)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");
  return (
    <Answer
      of={of}
      lines={8}
      isEmpty={(asked) => asked.dates === 0}
      empty={
        <Empty title={t("noDates")}>
          {of.data !== undefined && of.data.skipped > 0 && t("allDone", { count: of.data.skipped })}
        </Empty>
      }
    >
      {(asked) => {
        const rows = rowsOf(asked);
        return (
          <>
            <div className="preview">
              <table className="dense">
                <Heads
                  of={[
                    { num: t("chain") },
                    { num: t("step") },
                    t("forTime", { zone: asked.time_zone }),
                    t("workflow"),
                    t("params"),
                  ]}
                />
                <tbody>
                  {rows.slice(0, ROWS_MAX).map((row) => (
                    <tr key={row.key}>
                      <td className="num">{row.chain}</td>
                      <td className="num">{row.step}</td>
                      <td>{localTime(row.at, asked.time_zone).replace("T", " ")}</td>
                      <td>{row.workflow}</td>
                      <td className="wide mute">{given || "–"}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
            <footer>
              {rows.length > ROWS_MAX && <span>{t("rowsLeft", { count: rows.length - ROWS_MAX })}</span>}
              <span>{t("chainHelp")}</span>
              {asked.dependents.length > 0 && <span>{t("dependentsToo", { names: asked.dependents.join(", ") })}</span>}
            </footer>
          </>
        );
      }}
    </Answer>
  );
}
