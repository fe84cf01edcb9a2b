import { Menu, UnstyledButton } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { zone } from "@/parts/time";

/** The zone in which times are shown: the browser's, UTC, or another one chosen in Settings. */
export function ZoneSwitch() {
  const { t } = useTranslation("app");
  const navigate = useNavigate();
  const shown = zone.use();
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <Menu>
      <Menu.Target>
        <UnstyledButton className="pick" aria-label={t("zoneIs", { zone: shown })} title={t("zone")}>
          {shown.split("/").at(-1)?.replaceAll("_", " ")}
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{t("zone")}</Menu.Label>
        {[...new Set([own, "UTC", shown])].map((each) => (
          <Menu.Item key={each} aria-current={each === shown} onClick={() => zone.set(each)}>
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
