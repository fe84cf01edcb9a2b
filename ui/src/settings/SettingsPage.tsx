import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { ComponentType } from "react";
import { useTranslation } from "react-i18next";
import { me } from "@/login/session";
import { About } from "./About";
import { AccountSection } from "./AccountSection";
import { Audit } from "./Audit";
import { DataSources } from "./DataSources";
import { Environments } from "./Environments";
import { InForce } from "./InForce";
import { Projects } from "./Projects";
import { Secrets } from "./Secrets";
import { Users } from "./Users";
import "@/forms/forms.css";
import "./settings.css";

interface Section {
  id: string;
  shows: ComponentType;
  /** Only an administrator gets an answer; others are told so where the answer would be. */
  isAdmins?: boolean;
}

const SECTIONS: Section[] = [
  { id: "account", shows: AccountSection },
  { id: "projects", shows: Projects },
  { id: "data-sources", shows: DataSources, isAdmins: true },
  { id: "environments", shows: Environments, isAdmins: true },
  { id: "secrets", shows: Secrets, isAdmins: true },
  { id: "users", shows: Users, isAdmins: true },
  { id: "audit", shows: Audit },
  { id: "in-force", shows: InForce },
  { id: "about", shows: About },
];
const FIRST: Section = { id: "account", shows: AccountSection };

/** What is set for all, for a project, and for oneself; each section has its address. */
export function SettingsPage() {
  const { t } = useTranslation("settings");
  const { section } = useParams({ strict: false });
  const who = useQuery(me);
  const chosen = SECTIONS.find((each) => each.id === section) ?? FIRST;
  const Shown = chosen.shows;
  return (
    <div className="page settings">
      <div className="page-head">
        <h1>{t("title")}</h1>
      </div>
      <div className="settings-body">
        <nav className="sections" aria-label={t("sections")}>
          {SECTIONS.map((each) => (
            <Link
              key={each.id}
              to="/settings/$section"
              params={{ section: each.id }}
              search={{}}
              aria-current={each.id === chosen.id ? "page" : undefined}
            >
              {t(`section.${each.id}`)}
              {each.isAdmins && who.data?.is_admin === false && <span className="tag">{t("adminsOnly")}</span>}
            </Link>
          ))}
        </nav>
        <div className="section">
          <Shown key={chosen.id} />
        </div>
      </div>
    </div>
  );
}
