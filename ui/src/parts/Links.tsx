/** What rows and sentences lead to. */
import { CopyButton } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { IconAct } from "@/parts/IconAct";

/** Names of so many letters fit everywhere; of longer ones the end stays, where names such as `…_eu` and `…_us` differ. */
const FITS = 28;
const END = 10;

/** A workflow by its name. One that does not fit is cut in the middle; in focus it is whole. */
export function WorkflowLink({ project, name, className }: { project: string; name: string; className?: string }) {
  const letters = [...name];
  const isLong = letters.length > FITS;
  return (
    <Link
      to="/workflows/$project/$name"
      params={{ project, name }}
      search={{}}
      className={className}
      {...(isLong && { title: name, "aria-label": name })}
    >
      {isLong ? (
        <span className="name-cut">
          <span>{letters.slice(0, -END).join("")}</span>
          <span>{letters.slice(-END).join("")}</span>
        </span>
      ) : (
        name
      )}
    </Link>
  );
}

/** A run by its id, or by other words. */
export function RunLink({ id, children }: { id: string; children?: ReactNode }) {
  return (
    <Link to="/runs/$id" params={{ id }} search={{}}>
      {children ?? id}
    </Link>
  );
}

/** Copies an id. In a table it shows where the pointer or the focus is. */
export function CopyId({ id }: { id: string }) {
  const { t } = useTranslation("parts");
  return (
    <CopyButton value={id}>
      {({ copied, copy }) => (
        <IconAct
          icon={copied ? IconCheck : IconCopy}
          word={t(copied ? "copied" : "copyId", { id })}
          size={30}
          className="on-hover"
          data-shown={copied || undefined}
          onClick={copy}
        />
      )}
    </CopyButton>
  );
}
