import { useMantineColorScheme } from "@mantine/core";
import {
  IconCalendarTime,
  IconDeviceDesktop,
  IconFolder,
  IconHistory,
  IconListDetails,
  IconLogout,
  IconMoon,
  IconPlayerPlay,
  IconServer2,
  IconSitemap,
  IconSun,
  IconTopologyStar3,
  IconWorld,
  type TablerIcon,
} from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { chooseProject } from "@/app/ProjectSwitch";
import { PAGES } from "@/app/Rail";
import { logOut } from "@/login/session";
import { useStartOrAsk } from "@/start/useStart";
import { chooseLanguage, LANGUAGES, type Language } from "@/words/i18n";
import { type Entry, matching } from "./entries";
import type { PaletteMode } from "./open";
import { found, startable } from "./queries";

type Found = Schemas["FoundAnswer"];

const ICONS: Record<Found["kind"], TablerIcon> = {
  WORKFLOW: IconSitemap,
  PROJECT: IconFolder,
  RUN: IconListDetails,
  SCHEDULE: IconCalendarTime,
  MASTER: IconServer2,
  WORKER: IconServer2,
};
const STARTS_MAX = 3;

/** What the palette lists for what is typed: what the server finds, then pages and commands. */
export function useEntries(
  mode: PaletteMode,
  typed: string,
): { entries: Entry[]; error: Error | null; isReading: boolean } {
  const { t } = useTranslation("palette");
  const start = useStartOrAsk();
  const searched = useQuery({ ...found(typed), enabled: mode === "all" && typed !== "" });
  const can = useQuery({ ...startable(typed), enabled: mode === "start" });
  const commands = useCommands();
  const go = useGo();
  const startEntry = (code: string, name: string, project: string): Entry => ({
    id: `start-${code}`,
    group: t("startGroup"),
    name: t("start", { name }),
    about: project,
    icon: IconPlayerPlay,
    act: () => void start({ code, name }),
  });
  if (mode === "start") {
    const all = can.data?.items ?? [];
    return {
      entries: all.map((each) => startEntry(each.code, each.name, each.project)),
      error: can.error,
      isReading: can.isPending,
    };
  }
  const items = typed === "" ? [] : (searched.data?.items ?? []);
  const entries = items.map((each) => ({
    id: `${each.kind}-${each.id ?? each.name}`,
    group: t(`kind.${each.kind}`),
    name: each.kind === "RUN" ? t("run", { id: each.id, name: each.name }) : each.name,
    about: [each.project, each.about].filter(Boolean).join(" · "),
    icon: ICONS[each.kind],
    act: () => go(each),
  }));
  const starts = items
    .filter((each) => each.kind === "WORKFLOW" && each.about === "ONLINE")
    .slice(0, STARTS_MAX)
    .map((each) => startEntry(each.id ?? "", each.name, each.project ?? ""));
  return {
    entries: [...entries, ...starts, ...matching(commands, typed)],
    error: searched.error,
    isReading: typed !== "" && searched.isPending,
  };
}

/** How to get to what was found. */
function useGo() {
  const navigate = useNavigate();
  return (what: Found) => {
    const id = what.id ?? "";
    if (what.kind === "RUN") void navigate({ to: "/runs/$id", params: { id }, search: {} });
    else if (what.kind === "WORKFLOW")
      void navigate({
        to: "/workflows/$project/$name",
        params: { project: what.project ?? "", name: what.name },
        search: {},
      });
    else if (what.kind === "SCHEDULE") void navigate({ to: "/schedules", search: { row: id } });
    else if (what.kind === "PROJECT") chooseProject(what.name);
    else void navigate({ to: "/cluster", search: { tab: what.kind === "MASTER" ? "masters" : "workers" } });
  };
}

/** Pages, and what can be done from anywhere. */
function useCommands(): Entry[] {
  const { t } = useTranslation("palette");
  const app = useTranslation("app").t;
  const navigate = useNavigate();
  const { setColorScheme } = useMantineColorScheme();
  const page = (to: string, name: string, icon: TablerIcon, also: string): Entry => ({
    id: `page-${to}`,
    group: t("pages"),
    name,
    about: to,
    icon,
    also,
    act: () => void navigate({ to, search: {} as never }),
  });
  const command = (id: string, name: string, icon: TablerIcon, also: string, act: () => void): Entry => ({
    id,
    group: t("commands"),
    name,
    about: "",
    icon,
    also,
    act,
  });
  return [
    ...PAGES.map(({ to, word, icon }) => page(to, app(word), icon, word)),
    page("/attempts", t("attempts"), IconHistory, "attempts tasks"),
    page("/relations", t("relations"), IconTopologyStar3, "relations"),
    command("light", t("light"), IconSun, "light theme", () => setColorScheme("light")),
    command("dark", t("dark"), IconMoon, "dark theme", () => setColorScheme("dark")),
    command("auto", t("auto"), IconDeviceDesktop, "auto theme system", () => setColorScheme("auto")),
    ...(Object.keys(LANGUAGES) as Language[]).map((each) =>
      command(
        `language-${each}`,
        t("language", { name: LANGUAGES[each] }),
        IconWorld,
        `language ${each}`,
        () => void chooseLanguage(each),
      ),
    ),
    command(
      "log-out",
      app("logOut"),
      IconLogout,
      "log out",
      () => void logOut().then(() => navigate({ to: "/login", search: {} })),
    ),
  ];
}
