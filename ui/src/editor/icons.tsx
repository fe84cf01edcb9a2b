import {
  IconArrowsExchange,
  IconArrowsShuffle,
  IconBolt,
  IconBox,
  IconBraces,
  IconBrandPython,
  IconDatabase,
  IconEye,
  IconFilter,
  IconGitBranch,
  IconGitFork,
  IconHourglass,
  IconPuzzle,
  IconSquares,
  IconTerminal2,
  IconTestPipe,
  IconUserCheck,
  type TablerIcon,
} from "@tabler/icons-react";

const OF_TYPE: Record<string, TablerIcon> = {
  SHELL: IconTerminal2,
  PYTHON: IconBrandPython,
  SQL: IconDatabase,
  PROCEDURE: IconBraces,
  HTTP: IconArrowsExchange,
  SPARK: IconBolt,
  MR: IconFilter,
  K8S: IconBox,
  WAIT: IconEye,
  FAKE: IconTestPipe,
  SUB_PROCESS: IconSquares,
  DYNAMIC: IconArrowsShuffle,
  DEPENDENT: IconHourglass,
  SWITCH: IconGitBranch,
  CONDITIONS: IconGitFork,
  APPROVAL: IconUserCheck,
};

/** In which order people look for types; plug-ins come after all of them. */
export function rankOf(type: string): number {
  const at = Object.keys(OF_TYPE).indexOf(type);
  return at < 0 ? Number.MAX_SAFE_INTEGER : at;
}

/** The sign of a task type; plug-ins have one in common. */
export function TypeIcon({ type, size = 16 }: { type: string; size?: number }) {
  const Icon = OF_TYPE[type] ?? IconPuzzle;
  return <Icon size={size} stroke={1.5} aria-hidden />;
}
