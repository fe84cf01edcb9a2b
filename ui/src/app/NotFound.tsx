import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { Empty } from "@/parts/Answer";

/** There is no page at this address. */
export function NotFound() {
  const { t } = useTranslation("app");
  return (
    <div className="page">
      <Empty title={t("noPage")}>
        <p>
          <Link to="/">{t("toNow")}</Link>
        </p>
      </Empty>
    </div>
  );
}
