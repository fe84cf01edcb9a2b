import { Button } from "@mantine/core";
import { IconKeyboard } from "@tabler/icons-react";
import type { ComponentProps, ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { KeysHelp } from "./KeysHelp";
import { SavedViews } from "./SavedViews";

interface Props extends ComponentProps<typeof SavedViews> {
  title: string;
  /** The keys that this list knows, in words. */
  keys: [string, string][];
  isHelp: boolean;
  onHelp: (isOpen: boolean) => void;
  /** Buttons at the end. */
  children: ReactNode;
}

/** The head of a list with filters: its name, saved views, the keys, and what can be done. */
export function ListHead({ title, keys, isHelp, onHelp, children, ...views }: Props) {
  const { t } = useTranslation("lists");
  return (
    <div className="page-head">
      <h1>{title}</h1>
      <SavedViews {...views} />
      <div className="end">
        <Button
          size="xs"
          variant="default"
          aria-label={t("keys")}
          title={t("keys")}
          className="wide-only"
          onClick={() => onHelp(true)}
        >
          <IconKeyboard size={16} stroke={1.5} />
        </Button>
        {children}
      </div>
      <KeysHelp opened={isHelp} onClose={() => onHelp(false)} keys={keys} />
    </div>
  );
}
