import { Menu, UnstyledButton } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";
import { chooseZone, onZone, shownZone } from "@/parts/time";

/** The zone in which times are shown: the browser's, UTC, or another one chosen in Settings. */
export function ZoneSwitch() {
  const { t } = useTranslation("app");
  const navigate = useNavigate();
  const zone = useSyncExternalStore(onZone, shownZone);
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <Menu>
      <Menu.Target>
        <UnstyledButton className="pick" aria-label={t("zoneIs", { zone })} title={t("zone")}>
          {zone.split("/").at(-1)?.replaceAll("_", " ")}
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{t("zone")}</Menu.Label>
        {[...new Set([own, "UTC", zone])].map((each) => (
          <Menu.Item key={each} aria-current={each === zone} onClick={() => chooseZone(each)}>
            {each}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item
          onClick={() => void navigate({ to: "/settings/$section", params: { section: "account" }, search: {} })}
        >
          {t("otherZone")}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
