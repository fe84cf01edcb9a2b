import { ActionIcon, CopyButton } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";
import { useTranslation } from "react-i18next";

/** Lines that work as they stand, and a button that copies them. */
export function CopyBlock({ text }: { text: string }) {
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
