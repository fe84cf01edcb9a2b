import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { Table } from "@/parts/Table";

type Line = Schemas["ImportLine"];
const LOOKS = { todo: "FAILURE", lost: "STOP", changed: "LATE", same: "SUCCESS" } as const;

/** The worst first. */
export const GRADES = ["todo", "lost", "changed", "same"] as const;

/** How well something was imported. */
export function Grade({ of }: { of: Line["grade"] }) {
  const { t } = useTranslation("importing");
  return (
    <span className="line">
      <i className="st" data-s={LOOKS[of]} aria-hidden />
      {t(`grade.${of}`)}
    </span>
  );
}

/** Lines of the report, the worst first. */
export function Lines({ lines, first }: { lines: Line[]; first: "file" | "task" }) {
  const { t } = useTranslation("importing");
  const sorted = [...lines].sort((one, other) => GRADES.indexOf(one.grade) - GRADES.indexOf(other.grade));
  return (
    <Table hasFocus className="dense" heads={[t("gradeHead"), t(first), t("remark")]}>
      {sorted.map((line) => (
        <tr key={JSON.stringify(line)}>
          <td>
            <Grade of={line.grade} />
          </td>
          <td>{line[first]}</td>
          <td className="said">{line.sentence}</td>
        </tr>
      ))}
    </Table>
  );
}
