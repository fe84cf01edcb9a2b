import { UnstyledButton } from "@mantine/core";
import {
  IconActivityHeartbeat,
  IconAdjustmentsHorizontal,
  IconBell,
  IconCalendarTime,
  IconDots,
  IconInbox,
  IconListDetails,
  IconServer2,
  IconSitemap,
  type TablerIcon,
} from "@tabler/icons-react";
import { Link, useLocation } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { useTranslation } from "react-i18next";
import { Logo } from "./Logo";
import { RailFoot } from "./RailFoot";

export interface Page {
  to: string;
  word: string;
  icon: TablerIcon;
  isOnPhone?: boolean;
  isApart?: boolean;
}

/** The pages of the rail, in order. */
export const PAGES: Page[] = [
  { to: "/", word: "now", icon: IconActivityHeartbeat, isOnPhone: true },
  { to: "/workflows", word: "workflows", icon: IconSitemap, isOnPhone: true },
  { to: "/runs", word: "runs", icon: IconListDetails, isOnPhone: true },
  { to: "/schedules", word: "schedules", icon: IconCalendarTime },
  { to: "/queue", word: "queue", icon: IconInbox, isOnPhone: true },
  { to: "/cluster", word: "cluster", icon: IconServer2, isOnPhone: true },
  { to: "/alerts", word: "alerts", icon: IconBell },
  { to: "/settings", word: "settings", icon: IconAdjustmentsHorizontal, isApart: true },
];

const NeedsBadge = lazy(() => import("@/now/NeedsBadge").then(({ NeedsBadge }) => ({ default: NeedsBadge })));

const MoreSheet = lazy(async () => ({ default: (await import("./MoreSheet")).MoreSheet }));

/** The number next to *Now*; the frame does not wait for it. */
function Needs() {
  return (
    <Suspense fallback={null}>
      <NeedsBadge />
    </Suspense>
  );
}

function useIsHere() {
  const { pathname } = useLocation();
  return (to: string) => (to === "/" ? pathname === "/" : pathname === to || pathname.startsWith(`${to}/`));
}

/** The pages, at the left edge. */
export function Rail() {
  const { t } = useTranslation("app");
  const isHere = useIsHere();
  return (
    <aside className="rail">
      <Link to="/" className="brand" aria-label="Shoal">
        <Logo />
        <span>Shoal</span>
      </Link>
      <nav aria-label={t("pages")}>
        {PAGES.map(({ to, word, icon: Icon, isApart }) => (
          <Link key={to} to={to} aria-current={isHere(to) ? "page" : undefined} title={t(word)} data-apart={isApart}>
            <Icon size={16} stroke={1.5} aria-hidden />
            <span>{t(word)}</span>
            {to === "/" && <Needs />}
          </Link>
        ))}
      </nav>
      <RailFoot />
    </aside>
  );
}

/** On a phone: the pages that are used most, under the thumb, and a sheet of the others. */
export function TabBar() {
  const { t } = useTranslation("app");
  const isHere = useIsHere();
  const [isMore, setIsMore] = useState(false);
  const others = PAGES.filter((page) => !page.isOnPhone);
  return (
    <nav className="tabbar" aria-label={t("pages")}>
      {PAGES.filter((page) => page.isOnPhone).map(({ to, word, icon: Icon }) => (
        <Link key={to} to={to} aria-current={isHere(to) ? "page" : undefined}>
          <Icon size={20} stroke={1.5} aria-hidden />
          {t(word)}
          {to === "/" && <Needs />}
        </Link>
      ))}
      <UnstyledButton
        aria-haspopup="dialog"
        aria-current={others.some(({ to }) => isHere(to)) ? "page" : undefined}
        onClick={() => setIsMore(true)}
      >
        <IconDots size={20} stroke={1.5} aria-hidden />
        {t("more")}
      </UnstyledButton>
      {isMore && (
        <Suspense fallback={null}>
          <MoreSheet pages={others} isHere={isHere} onClose={() => setIsMore(false)} />
        </Suspense>
      )}
    </nav>
  );
}
