import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { api, ROOT } from "@/api/client";
import { Logo } from "@/app/Logo";
import { version as shoalVersion } from "@/cluster/queries";
import { Answer } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";
import { Heads } from "@/parts/Table";
import { libraries } from "./libraries";

/** Which Shoal this is, and whose work is in the page. */
export function About() {
  const { t } = useTranslation("settings");
  const version = useQuery(shoalVersion);
  const clock = useQuery({ queryKey: ["clock"], queryFn: () => api.GET("/api/v1/clock"), staleTime: 0 });
  const skew = clock.data && clock.dataUpdatedAt - Date.parse(clock.data.now);
  return (
    <>
      <Panel title={t("section.about")}>
        <div className="form pad">
          <p className="line about-name">
            <Logo /> <b>Shoal</b>{" "}
            <Answer of={version} lines={1}>
              {(found) => found.version}
            </Answer>
          </p>
          <p>{t("licence")}</p>
          {skew !== undefined && <p className="mute">{t("clock", { seconds: (Math.abs(skew) / 1000).toFixed(1) })}</p>}
          <p>
            <a href={`${ROOT}api/v1/openapi.json`}>{t("openapi")}</a>
          </p>
        </div>
      </Panel>
      <Panel title={t("libraries")} remark={libraries.length}>
        <table className="dense">
          <Heads of={[t("library"), t("version"), t("licenceWord")]} />
          <tbody>
            {libraries.map((each) => (
              <tr key={each.name}>
                <td>{each.name}</td>
                <td>{each.version}</td>
                <td>{each.licence}</td>
              </tr>
            ))}
          </tbody>
        </table>
        <footer>{t("pythonLibraries")}</footer>
      </Panel>
    </>
  );
}
