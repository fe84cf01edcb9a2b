import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { lastChange, slots, workers } from "@/cluster/queries";
import { Ago } from "@/parts/Time";

/** Who works now, and when that last changed. */
export function RailFoot() {
  const { t } = useTranslation("app");
  const masters = useQuery(slots).data?.masters.length;
  const others = useQuery(workers).data?.items.length;
  const last = useQuery(lastChange).data;
  if (masters === undefined || others === undefined) return null;
  return (
    <Link to="/cluster" className="foot">
      <b>
        {t("mastersCount", { count: masters })} · {t("workersCount", { count: others })}
      </b>
      {last && (
        <span>
          {t("changeNumber", { number: last.number })} · <Ago at={last.at} />
        </span>
      )}
    </Link>
  );
}
