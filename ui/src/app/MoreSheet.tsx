import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { Dialog } from "@/parts/Dialog";
import type { Page } from "./Rail";
import { RailFoot } from "./RailFoot";
import { ZoneSwitch } from "./ZoneSwitch";

interface Props {
  pages: Page[];
  isHere: (to: string) => boolean;
  onClose: () => void;
}

/** From the lower edge of a phone: what the rail and the top bar have no room for there. */
export function MoreSheet({ pages, isHere, onClose }: Props) {
  const { t } = useTranslation("app");
  return (
    <Dialog
      onClose={onClose}
      title={t("more")}
      size="100%"
      xOffset={0}
      yOffset={0}
      transitionProps={{ transition: "slide-up" }}
      classNames={{ inner: "sheet-place", content: "sheet" }}
    >
      <nav aria-label={t("otherPages")}>
        {pages.map(({ to, word, icon: Icon }) => (
          <Link key={to} to={to} aria-current={isHere(to) ? "page" : undefined} onClick={onClose}>
            <Icon size={20} stroke={1.5} aria-hidden />
            {t(word)}
          </Link>
        ))}
      </nav>
      <div className="line">
        <span className="soft">{t("zone")}</span>
        <ZoneSwitch />
      </div>
      <RailFoot />
    </Dialog>
  );
}
