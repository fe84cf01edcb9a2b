import { ActionIcon, Tooltip } from "@mantine/core";
import { IconArrowsMaximize, IconHierarchy, IconMinus, IconNote, IconPlus, type TablerIcon } from "@tabler/icons-react";
import { Panel, useReactFlow, useViewport } from "@xyflow/react";
import { useTranslation } from "react-i18next";
import { fitOf } from "./Canvas";

/** Arrange, fit, a note, and the size of the picture. */
export function CanvasTools({ onArrange, onNote }: { onArrange?: () => void; onNote?: () => void }) {
  const { t } = useTranslation("editor");
  const flow = useReactFlow();
  const { zoom } = useViewport();
  return (
    <Panel position="top-left" className="canvas-tools">
      <ActionIcon.Group>
        {onArrange && <Tool icon={IconHierarchy} word={t("arrange")} onClick={onArrange} />}
        <Tool
          icon={IconArrowsMaximize}
          word={t("fit")}
          onClick={() => void flow.fitView(fitOf(flow.getNodes().length))}
        />
        {onNote && <Tool icon={IconNote} word={t("addNote")} onClick={onNote} />}
      </ActionIcon.Group>
      <ActionIcon.Group>
        <Tool icon={IconMinus} word={t("smaller")} onClick={() => void flow.zoomOut()} />
        <ActionIcon.GroupSection variant="default" size="md" className="zoom">
          {Math.round(zoom * 100)} %
        </ActionIcon.GroupSection>
        <Tool icon={IconPlus} word={t("larger")} onClick={() => void flow.zoomIn()} />
      </ActionIcon.Group>
    </Panel>
  );
}

function Tool({ icon: Icon, word, onClick }: { icon: TablerIcon; word: string; onClick: () => void }) {
  return (
    <Tooltip label={word}>
      <ActionIcon variant="default" size="md" aria-label={word} onClick={onClick}>
        <Icon size={16} stroke={1.5} aria-hidden />
      </ActionIcon>
    </Tooltip>
  );
}
