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

/** The buttons of a run: what can be done now in plain sight, all ways to run it again in a menu. */
export function Actions() {
  const { t } = useTranslation("run");
  const { tasks, whyNot, change } = useRun();
  const isPaused = whyNot.resume === null;
  const working = tasks.filter((task) => task.state === "RUNNING_EXECUTION").length;
  return (
    <div className="run-acts">
      {isPaused ? (
        <Deed
          whyNot={whyNot.resume}
          icon={IconPlayerPlay}
          onClick={() => change({ do: "resume" })}
          word={t("resume")}
        />
      ) : (
        <Deed whyNot={whyNot.pause} icon={IconPlayerPause} onClick={() => change({ do: "pause" })} word={t("pause")} />
      )}
      <Deed
        whyNot={whyNot.stop}
        icon={IconPlayerStop}
        onClick={() => change({ do: "stop" })}
        word={t("stop")}
        sure={working > 0 ? t("sureStop", { count: working }) : undefined}
      />
      {tasks.some(isLivingStream) && (
        <Deed
          whyNot={whyNot.restart}
          icon={IconRotateClockwise}
          onClick={() => change({ do: "restart", tasks: [] })}
          word={t("restartStreams")}
        />
      )}
      <RerunMenu />
    </div>
  );
}

/** All ways to run it again. */
function RerunMenu() {
  const { t } = useTranslation("run");
  const { run, focus, whyNot, change, isChanging } = useRun();
  const { workflow_code: code, workflow, version } = run;
  const failed = focus !== null && isFailed(focus.state) ? focus : null;
  return (
    <Menu id="rerun" position="bottom-end" width={320} shadow="md">
      <Menu.Target>
        <Button
          variant={whyNot.failed === null ? "filled" : "default"}
          loading={isChanging}
          leftSection={<IconRefresh size={16} stroke={1.5} aria-hidden />}
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
              icon={IconRefreshDot}
              onClick={() => change({ do: "rerun", what: { newest: true } })}
              word={runNewest(t, run.newer)}
            />
            <Menu.Divider />
            <Menu.Label>{t("rerunVersion", { version: run.version })}</Menu.Label>
          </>
        )}
        <MenuDeed
          whyNot={whyNot.failed}
          icon={IconRefreshAlert}
          onClick={() => change({ do: "rerun", what: { failed: true } })}
          word={t("rerunFailed")}
        />
        <MenuDeed
          whyNot={focus === null ? "not.noTask" : whyNot.rerun}
          icon={IconArrowForwardUp}
          onClick={() => {
            if (focus !== null) change({ do: "rerun", what: { tasks: [focus.name], depend: "TASK_POST" } });
          }}
          word={t("rerunFrom", { task: focus?.name ?? "" })}
        />
        <MenuDeed
          whyNot={whyNot.rerun}
          icon={IconRefresh}
          onClick={() => change({ do: "rerun", what: {} })}
          word={t("rerunAll")}
        />
        <MenuDeed
          whyNot={whyNot.rerun === "not.role" ? "not.role" : null}
          icon={IconAdjustments}
          onClick={() => askToRun({ code, name: workflow ?? code, version, values: valuesOf(run.params) })}
          word={t("rerunOther")}
        />
        <Menu.Divider />
        <MenuDeed
          whyNot={failed === null ? "not.noFailedTask" : whyNot.rerun}
          icon={IconCircleCheck}
          onClick={() => failed?.last && change({ do: "mark", attempt: failed.last.id })}
          word={failed === null ? t("markTask") : t("markThis", { task: failed.name })}
        />
      </Menu.Dropdown>
    </Menu>
  );
}
