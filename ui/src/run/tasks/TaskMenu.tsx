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
  type Icon as TablerIcon,
} from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { useRun } from "../context";
import { isFailed, isLivingStream } from "../model";

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
          icon={IconFileText}
          onClick={() => go({ tab: "logs", task: name, attempt: undefined, at: undefined })}
          word={t("log")}
        />
        <MenuDeed whyNot={null} icon={IconHelp} onClick={() => go({ task: name, tab: undefined })} word={t("why")} />
        {task !== undefined && isLivingStream(task) && (
          <MenuDeed
            whyNot={whyNot.restart}
            icon={IconRotateClockwise}
            onClick={() => change({ do: "restart", tasks: [name] })}
            word={t("restartStream")}
          />
        )}
        <Menu.Divider />
        <MenuDeed whyNot={whyNot.rerun} icon={IconRefresh} onClick={() => again("TASK_ONLY")} word={t("rerunThis")} />
        <MenuDeed
          whyNot={whyNot.rerun}
          icon={IconArrowForwardUp}
          onClick={() => again("TASK_POST")}
          word={t("rerunFromHere")}
        />
        <MenuDeed
          whyNot={whyNot.rerun}
          icon={IconArrowBackUp}
          onClick={() => again("TASK_PRE")}
          word={t("rerunUpTo")}
        />
        <MenuDeed
          whyNot={last === null || !isFailed(last.state) ? "not.notFailed" : whyNot.rerun}
          icon={IconCircleCheck}
          onClick={() => last && change({ do: "mark", attempt: last.id })}
          word={t("mark")}
        />
        {run.project && run.workflow && (
          <>
            <Menu.Divider />
            <Menu.Item
              leftSection={<IconPencil size={16} stroke={1.5} aria-hidden />}
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
  icon: TablerIcon;
  onClick: () => void;
  word: string;
}

/** A line of a menu; one that cannot be chosen stays reachable and says why. */
export function MenuDeed({ whyNot, icon: Icon, onClick, word }: DeedProps) {
  const { t } = useTranslation("run");
  return (
    <Menu.Item
      leftSection={<Icon size={16} stroke={1.5} aria-hidden />}
      aria-disabled={whyNot !== null || undefined}
      data-off={whyNot !== null || undefined}
      closeMenuOnClick={whyNot === null}
      onClick={() => whyNot === null && onClick()}
    >
      {word}
      {whyNot !== null && <small className="why-not">{t(whyNot)}</small>}
    </Menu.Item>
  );
}
