import { IconRefresh } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { SmallAct } from "@/parts/Act";
import { Answer } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";
import { type Check, doctor } from "./queries";

const ORDER: Check["verdict"][] = ["FAILED", "UNKNOWN", "NOTE", "PASSED"];
const MARKS: Record<Check["verdict"], string> = {
  FAILED: "FAILURE",
  UNKNOWN: "NOT_BEGUN",
  NOTE: "LATE",
  PASSED: "SUCCESS",
};

/** Everything that must be true of a cluster, and what to do about what is not. */
export function DoctorTab() {
  const { t } = useTranslation("cluster");
  const found = useQuery({ ...doctor, staleTime: 30_000 });
  const failed = found.data?.failed.length;
  return (
    <Panel
      title={t("tab.doctor")}
      remark={
        found.data &&
        (failed === 0
          ? t("allChecksPass", { count: found.data.checks.length })
          : t("checksFail", { count: failed, all: found.data.checks.length }))
      }
      end={
        <SmallAct
          leftSection={<IconRefresh size={14} stroke={1.5} aria-hidden />}
          loading={found.isFetching}
          onClick={() => void found.refetch()}
          word={t("checkAgain")}
        />
      }
    >
      <Answer of={found} lines={10}>
        {(data) => (
          <ul className="checks">
            {[...data.checks]
              .sort((one, other) => ORDER.indexOf(one.verdict) - ORDER.indexOf(other.verdict))
              .map((each) => (
                <OneCheck key={each.name} check={each} />
              ))}
          </ul>
        )}
      </Answer>
    </Panel>
  );
}

function OneCheck({ check }: { check: Check }) {
  const { t } = useTranslation("cluster");
  const isFine = check.verdict === "PASSED";
  return (
    <li>
      <i className="st" data-s={MARKS[check.verdict]} role="img" aria-label={t(`verdict.${check.verdict}`)} />
      <div>
        <span className={isFine ? "" : "strong"}>{check.condition}</span>{" "}
        {check.detail && <span className="mute">{check.detail}</span>}
        {!isFine && check.finds.length > 0 && (
          <ul className="finds">
            {check.finds.map((each) => (
              <li key={each}>{each}</li>
            ))}
            {check.count > check.finds.length && (
              <li className="mute">{t("more", { count: check.count - check.finds.length })}</li>
            )}
          </ul>
        )}
        {!isFine && check.fix && <p className="soft">→ {check.fix}</p>}
      </div>
      <code className="mute">{check.name}</code>
    </li>
  );
}
