import { ActionIcon, Button, CopyButton } from "@mantine/core";
import {
  IconAlignLeft,
  IconCheck,
  IconCode,
  IconCopy,
  IconPencil,
  IconSitemap,
  type TablerIcon,
} from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { useTranslation } from "react-i18next";
import { SmallAct } from "@/parts/Act";
import { Facts, Kbd } from "@/parts/Facts";
import { LinkAct } from "@/parts/LinkAct";
import { Ago } from "@/parts/Time";
import { runsPage } from "@/runs/queries";
import { runFilterOf } from "@/runs/runFilter";
import { python, YAML } from "./examples";
import { NeedsYou } from "./NeedsYou";
import { SampleCard } from "./SampleCard";
import { SlotsCard } from "./SlotsCard";
import { useNeeds } from "./useNeeds";

const PasteYaml = lazy(async () => ({ default: (await import("./PasteYaml")).PasteYaml }));

const KEYS = [
  ["Enter", "keyAdd"],
  ["Tab", "keyNext"],
  ["↑ ↓ ← →", "keyMove"],
  ["Ctrl Z", "keyUndo"],
  ["Ctrl S", "keySave"],
] as const;

/** The first screen as long as there is nothing but the sample: three ways to a first workflow. */
export function FirstSteps({ hasSample }: { hasSample: boolean }) {
  const { t } = useTranslation("now");
  const { needs } = useNeeds();
  const [isPasting, setIsPasting] = useState(false);
  return (
    <>
      <div className="hero" data-alone={!hasSample}>
        {hasSample && <SampleCard />}
        <SlotsCard />
      </div>
      <div className="three">
        <Card icon={IconSitemap} title={t("draw")} about={t("drawAbout")}>
          <Facts
            className="copy-block draw-keys"
            of={KEYS.map(([key, word]) => [<Kbd key={key} of={key} />, t(word)])}
          />
          <LinkAct
            to="/workflows"
            search={{ new: true }}
            size="xs"
            leftSection={<IconPencil size={14} stroke={1.5} />}
            word={t("openEditor")}
          />
        </Card>
        <Card icon={IconAlignLeft} title={t("paste")} about={t("pasteAbout")}>
          <CopyBlock text={YAML} />
          <SmallAct onClick={() => setIsPasting(true)} word={t("pasteAndCheck")} />
        </Card>
        <Card icon={IconCode} title={t("python")} about={t("pythonAbout")}>
          <CopyBlock text={python(hasSample)} />
          <Button size="xs" variant="default" component="a" href="api/v1/openapi.json" target="_blank">
            {t("apiDocs")}
          </Button>
        </Card>
      </div>
      {needs !== undefined && needs.length > 0 && <NeedsYou />}
      <Quiet isNeeded={needs !== undefined && needs.length > 0} />
      {isPasting && (
        <Suspense fallback={null}>
          <PasteYaml text={YAML} onClose={() => setIsPasting(false)} />
        </Suspense>
      )}
    </>
  );
}

interface CardProps {
  icon: TablerIcon;
  title: string;
  about: string;
  children: ReactNode;
}

function Card({ icon: Icon, title, about, children }: CardProps) {
  return (
    <section className="panel step-card">
      <h2>
        <Icon size={18} stroke={1.5} aria-hidden /> {title}
      </h2>
      <p className="soft">{about}</p>
      {children}
    </section>
  );
}

/** What will stand here once there is something. */
function Quiet({ isNeeded }: { isNeeded: boolean }) {
  const { t } = useTranslation("now");
  const last = useQuery(runsPage(runFilterOf({}, null), undefined, 1)).data?.items[0];
  return (
    <div className="quiet">
      {!isNeeded && (
        <div>
          <h2>{t("needsYou")}</h2>
          <p className="mute">{t("nothingNeedsHint")}</p>
        </div>
      )}
      <div>
        <h2>{t("running")}</h2>
        <p className="mute">
          {last === undefined ? (
            t("nothingRuns")
          ) : (
            <>
              {t("lastRun", { name: last.workflow ?? last.id })} <Ago at={last.started_at} />
            </>
          )}
        </p>
      </div>
      <div>
        <h2>{t("next")}</h2>
        <p className="mute">
          {t("noSchedule")}{" "}
          <Link to="/schedules" search={{}}>
            {t("toSchedules")}
          </Link>
        </p>
      </div>
    </div>
  );
}

/** Lines that work as they stand, and a button that copies them. */
function CopyBlock({ text }: { text: string }) {
  const { t } = useTranslation("now");
  return (
    <div className="copy-block">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it can be scrolled by the arrow keys */}
      <pre tabIndex={0}>{text}</pre>
      <CopyButton value={text}>
        {({ copied, copy }) => (
          <ActionIcon
            variant="subtle"
            size="sm"
            aria-label={t(copied ? "copied" : "copy")}
            title={t("copy")}
            onClick={copy}
          >
            {copied ? <IconCheck size={14} stroke={1.5} /> : <IconCopy size={14} stroke={1.5} />}
          </ActionIcon>
        )}
      </CopyButton>
    </div>
  );
}
