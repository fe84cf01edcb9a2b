import { TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { settings as settingsInForce } from "@/cluster/queries";
import { Answer, Empty } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";
import { Table } from "@/parts/Table";
import { useAddress } from "@/parts/useAddress";

/** The settings of the process that answers; changed ones are marked. Its secrets are left out. */
export function InForce() {
  const { t } = useTranslation("settings");
  const search = useSearch({ strict: false }) as { q?: string };
  const change = useAddress<{ q: string }>();
  const wanted = (search.q ?? "").toString().toLowerCase();
  const found = useQuery(settingsInForce);
  return (
    <>
      <TextInput
        className="narrow"
        aria-label={t("findSetting")}
        placeholder={t("findSetting")}
        value={search.q ?? ""}
        onChange={(event) => change({ q: event.currentTarget.value })}
      />
      <Panel title={t("section.in-force")}>
        <Answer of={found} lines={12}>
          {({ settings, timing }) => {
            const shown = settings.filter((each) =>
              `${each.name} ${each.variable} ${each.description}`.toLowerCase().includes(wanted),
            );
            return (
              <>
                <Table heads={[t("setting"), t("value"), t("default"), t("meaning")]}>
                  {shown.map((each) => (
                    <tr key={each.name}>
                      <td title={each.variable}>
                        <code>{each.name}</code>
                      </td>
                      <td className="mono">{each.value !== each.default ? <b>{each.value}</b> : each.value}</td>
                      <td className="mono mute">{each.default}</td>
                      <td className="wrap soft">{each.description}</td>
                    </tr>
                  ))}
                </Table>
                {shown.length === 0 && <Empty title={t("noSetting")} />}
                {timing && (
                  <footer>
                    {t("timing")}{" "}
                    {Object.entries(timing)
                      .map(([name, seconds]) => `${name} ${seconds} s`)
                      .join(" · ")}
                  </footer>
                )}
              </>
            );
          }}
        </Answer>
      </Panel>
    </>
  );
}
