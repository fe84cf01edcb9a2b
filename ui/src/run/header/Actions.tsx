import { Button, Menu } from "@mantine/core";
import {
  IconAdjustments,
  IconArrowForwardUp,
  IconChevronDown,
  IconCircleCheck,
  IconPlayerPause,
  IconPlayerPlay,
  IconPlayerStop,
  IconRefresh,
  IconRefreshAlert,
  IconRefreshDot,
  IconRotateClockwise,
} from "@tabler/icons-react";
import { useTranslation } from "react-i18next";
import { askToRun } from "@/start/asking";
import { useRun } from "../context";
import { isFailed, isLivingStream, valuesOf } from "../model";
import { MenuDeed } from "../tasks/TaskMenu";
import { Deed } from "./Deed";
import { keeps, runNewest } from "./newest";

const ICON = { size: 16, stroke: 1.5, "aria-hidden": true } as const;

/** The buttons of a run: what can be done now in plain sight, all ways to run it again in a menu. */
export function Actions() {
  const { t } = useTranslation("run");
  const { run, tasks, focus, whyNot, change, isChanging } = useRun();
  const { workflow_code: code, workflow, version } = run;
  const isPaused = whyNot.resume === null;
  const failed = focus !== null && isFailed(focus.state) ? focus : null;
  return (
    <div className="run-acts">
      {isPaused ? (
        <Deed whyNot={whyNot.resume} icon={<IconPlayerPlay {...ICON} />} onClick={() => change({ do: "resume" })}>
          {t("resume")}
        </Deed>
      ) : (
        <Deed whyNot={whyNot.pause} icon={<IconPlayerPause {...ICON} />} onClick={() => change({ do: "pause" })}>
          {t("pause")}
        </Deed>
      )}
      <Deed whyNot={whyNot.stop} icon={<IconPlayerStop {...ICON} />} onClick={() => change({ do: "stop" })}>
        {t("stop")}
      </Deed>
      {tasks.some(isLivingStream) && (
        <Deed
          whyNot={whyNot.restart}
          icon={<IconRotateClockwise {...ICON} />}
          onClick={() => change({ do: "restart", tasks: [] })}
        >
          {t("restartStreams")}
        </Deed>
      )}
      <Menu id="rerun" position="bottom-end" width={320} shadow="md">
        <Menu.Target>
          <Button
            variant={whyNot.failed === null ? "filled" : "default"}
            loading={isChanging}
            leftSection={<IconRefresh {...ICON} />}
            rightSection={<IconChevronDown size={14} aria-hidden />}
          >
            {t("rerun")}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {run.newer && (
            <>
              <Menu.Label>{keeps(t, run.version, run.newer)}</Menu.Label>
              <MenuDeed
                whyNot={whyNot.rerun}
                icon={<IconRefreshDot {...ICON} />}
                onClick={() => change({ do: "rerun", what: { newest: true } })}
              >
                {runNewest(t, run.newer)}
              </MenuDeed>
              <Menu.Divider />
              <Menu.Label>{t("rerunVersion", { version: run.version })}</Menu.Label>
            </>
          )}
          <MenuDeed
            whyNot={whyNot.failed}
            icon={<IconRefreshAlert {...ICON} />}
            onClick={() => change({ do: "rerun", what: { failed: true } })}
          >
            {t("rerunFailed")}
          </MenuDeed>
          <MenuDeed
            whyNot={focus === null ? "not.noTask" : whyNot.rerun}
            icon={<IconArrowForwardUp {...ICON} />}
            onClick={() => {
              if (focus !== null) change({ do: "rerun", what: { tasks: [focus.name], depend: "TASK_POST" } });
            }}
          >
            {t("rerunFrom", { task: focus?.name ?? "" })}
          </MenuDeed>
          <MenuDeed
            whyNot={whyNot.rerun}
            icon={<IconRefresh {...ICON} />}
            onClick={() => change({ do: "rerun", what: {} })}
          >
            {t("rerunAll")}
          </MenuDeed>
          <MenuDeed
            whyNot={whyNot.rerun === "not.role" ? "not.role" : null}
            icon={<IconAdjustments {...ICON} />}
            onClick={() => askToRun({ code, name: workflow ?? code, version, values: valuesOf(run.params) })}
          >
            {t("rerunOther")}
          </MenuDeed>
          <Menu.Divider />
          <MenuDeed
            whyNot={failed === null ? "not.noFailedTask" : whyNot.rerun}
            icon={<IconCircleCheck {...ICON} />}
            onClick={() => failed?.last && change({ do: "mark", attempt: failed.last.id })}
          >
            {failed === null ? t("markTask") : t("markThis", { task: failed.name })}
          </MenuDeed>
        </Menu.Dropdown>
      </Menu>
    </div>
  );
}
