import { CopyButton } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";
import { useTranslation } from "react-i18next";
import { SmallAct } from "@/parts/Act";

/** A secret that is shown this once, to be copied. */
export function ShownOnce({ text, what }: { text: string; what: string }) {
  const { t } = useTranslation("forms");
  return (
    <div className="shown-once">
      <p>{what}</p>
      <div className="line">
        <code className="grow">{text}</code>
        <CopyButton value={text}>
          {({ copied, copy }) => (
            <SmallAct
              leftSection={copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
              onClick={copy}
              word={t(copied ? "copied" : "copy")}
            />
          )}
        </CopyButton>
      </div>
    </div>
  );
}
