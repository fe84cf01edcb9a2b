import { Menu, UnstyledButton, useMantineColorScheme } from "@mantine/core";
import { IconMoon, IconSun, IconWorld } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { logOut, me } from "@/login/session";
import { SearchField } from "@/palette/SearchField";
import { chooseLanguage, LANGUAGES, type Language } from "@/words/i18n";
import { Health } from "./Health";
import { Logo } from "./Logo";
import { ProjectSwitch } from "./ProjectSwitch";
import { ZoneSwitch } from "./ZoneSwitch";

/** Project, search, health, zone, language, theme, user. */
export function TopBar() {
  const { t, i18n } = useTranslation("app");
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const who = useQuery(me);
  const navigate = useNavigate();
  const isDark =
    colorScheme === "dark" || (colorScheme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  return (
    <header className="top">
      <Link to="/" className="brand phone">
        <Logo />
        <span>Shoal</span>
      </Link>
      <ProjectSwitch />
      <SearchField />
      <Health />
      <span className="wide">
        <ZoneSwitch />
      </span>
      <Menu>
        <Menu.Target>
          <UnstyledButton className="pick" aria-label={`${t("language")} ${i18n.language.toUpperCase()}`}>
            <IconWorld size={16} stroke={1.5} aria-hidden />
            <span className="wide">{i18n.language.toUpperCase()}</span>
          </UnstyledButton>
        </Menu.Target>
        <Menu.Dropdown>
          {(Object.keys(LANGUAGES) as Language[]).map((each) => (
            <Menu.Item key={each} lang={each} onClick={() => void chooseLanguage(each)}>
              {LANGUAGES[each]}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      <UnstyledButton
        className="pick"
        aria-label={t(isDark ? "toLight" : "toDark")}
        onClick={() => setColorScheme(isDark ? "light" : "dark")}
      >
        {isDark ? <IconSun size={16} stroke={1.5} aria-hidden /> : <IconMoon size={16} stroke={1.5} aria-hidden />}
      </UnstyledButton>
      <Menu>
        <Menu.Target>
          <UnstyledButton className="avatar">
            <span className="unseen">{t("user", { name: who.data?.name ?? "" })}</span>
            <span aria-hidden>{(who.data?.name ?? "?").slice(0, 2).toUpperCase()}</span>
          </UnstyledButton>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>{who.data?.name}</Menu.Label>
          <Menu.Item
            onClick={() => void navigate({ to: "/settings/$section", params: { section: "account" }, search: {} })}
          >
            {t("account")}
          </Menu.Item>
          <Menu.Item onClick={() => void logOut().then(() => navigate({ to: "/login", search: {} }))}>
            {t("logOut")}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </header>
  );
}
