import { Menu } from "@mantine/core";
import {
  IconArrowBackUp,
  IconArrowForwardUp,
  IconCircleCheck,
  IconFileText,
  IconHelp,
  IconPencil,
  IconRefresh,
  IconRotateClockwise,
} from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useRun } from "../context";
import { isFailed, isLivingStream } from "../model";

const ICON = { size: 16, stroke: 1.5, "aria-hidden": true } as const;

/** What can be done with a task: opened by its button, or by a right click on it. */
export function TaskMenu({ name, x, y, close }: { name: string; x: number; y: number; close: () => void }) {
  const { t } = useTranslation("run");
  const { run, tasks, go, change, whyNot } = useRun();
  const task = tasks.find((each) => each.name === name);
  const again = (depend: "TASK_ONLY" | "TASK_POST" | "TASK_PRE") =>
    change({ do: "rerun", what: { tasks: [name], depend } });
  const last = task?.last ?? null;
  return (
    <Menu opened onClose={close} position="bottom-start" width={280} shadow="md" returnFocus>
      <Menu.Target>
        <span className="menu-at" style={{ left: x, top: y }} />
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{name}</Menu.Label>
        <MenuDeed
          whyNot={last === null ? "not.noAttempt" : null}
          icon={<IconFileText {...ICON} />}
          onClick={() => go({ tab: "logs", task: name, attempt: undefined, at: undefined })}
        >
          {t("log")}
        </MenuDeed>
        <MenuDeed whyNot={null} icon={<IconHelp {...ICON} />} onClick={() => go({ task: name, tab: undefined })}>
          {t("why")}
        </MenuDeed>
        {task !== undefined && isLivingStream(task) && (
          <MenuDeed
            whyNot={whyNot.restart}
            icon={<IconRotateClockwise {...ICON} />}
            onClick={() => change({ do: "restart", tasks: [name] })}
          >
            {t("restartStream")}
          </MenuDeed>
        )}
        <Menu.Divider />
        <MenuDeed whyNot={whyNot.rerun} icon={<IconRefresh {...ICON} />} onClick={() => again("TASK_ONLY")}>
          {t("rerunThis")}
        </MenuDeed>
        <MenuDeed whyNot={whyNot.rerun} icon={<IconArrowForwardUp {...ICON} />} onClick={() => again("TASK_POST")}>
          {t("rerunFromHere")}
        </MenuDeed>
        <MenuDeed whyNot={whyNot.rerun} icon={<IconArrowBackUp {...ICON} />} onClick={() => again("TASK_PRE")}>
          {t("rerunUpTo")}
        </MenuDeed>
        <MenuDeed
          whyNot={last === null || !isFailed(last.state) ? "not.notFailed" : whyNot.rerun}
          icon={<IconCircleCheck {...ICON} />}
          onClick={() => last && change({ do: "mark", attempt: last.id })}
        >
          {t("mark")}
        </MenuDeed>
        {run.project && run.workflow && (
          <>
            <Menu.Divider />
            <Menu.Item
              leftSection={<IconPencil {...ICON} />}
              renderRoot={(props: object) => (
                <Link
                  to="/workflows/$project/$name"
                  params={{ project: run.project ?? "", name: run.workflow ?? "" }}
                  search={{ select: [`task:${name}`] }}
                  {...props}
                />
              )}
            >
              {t("openDefinition")}
            </Menu.Item>
          </>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}

interface DeedProps {
  whyNot: string | null;
  icon: ReactNode;
  onClick: () => void;
  children: ReactNode;
}

/** A line of a menu; one that cannot be chosen stays reachable and says why. */
export function MenuDeed({ whyNot, icon, onClick, children }: DeedProps) {
  const { t } = useTranslation("run");
  return (
    <Menu.Item
      leftSection={icon}
      aria-disabled={whyNot !== null || undefined}
      data-off={whyNot !== null || undefined}
      closeMenuOnClick={whyNot === null}
      onClick={() => whyNot === null && onClick()}
    >
      {children}
      {whyNot !== null && <small className="why-not">{t(whyNot)}</small>}
    </Menu.Item>
  );
}
