import { Button } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Failure, Skeleton } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";
import { NeedItem } from "./NeedItem";
import { useNeeds } from "./useNeeds";

const SHOWN = 6;

/** What needs a person, each with the buttons that are likely to be the answer. */
export function NeedsYou() {
  const { t } = useTranslation("now");
  const { needs, error, again } = useNeeds();
  const [isAll, setIsAll] = useState(false);
  const shown = isAll ? needs : needs?.slice(0, SHOWN);
  return (
    <Panel title={t("needsYou")} remark={needs?.length} end={<span>{t("newestFirst")}</span>}>
      {needs === undefined && error !== null && <Failure error={error} again={again} />}
      {needs === undefined && error === null && <Skeleton lines={4} />}
      {needs?.length === 0 && (
        <div className="fact">
          <i className="st" data-s="SUCCESS" aria-hidden />
          <div>
            <b>{t("nothingNeeds")}</b>
            <p>{t("nothingNeedsHint")}</p>
          </div>
        </div>
      )}
      <ul className="needs">
        {shown?.map((need) => (
          <NeedItem key={`${need.kind}-${need.of.id}`} need={need} />
        ))}
      </ul>
      {needs !== undefined && needs.length > SHOWN && (
        <footer>
          <Button size="compact-xs" variant="subtle" aria-expanded={isAll} onClick={() => setIsAll(!isAll)}>
            {isAll ? t("fewer") : t("more", { count: needs.length - SHOWN })}
          </Button>
        </footer>
      )}
    </Panel>
  );
}
