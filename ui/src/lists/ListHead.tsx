import { Button } from "@mantine/core";
import { IconKeyboard } from "@tabler/icons-react";
import type { ComponentProps, ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Dialog } from "@/parts/Dialog";
import { Facts, Kbd } from "@/parts/Facts";
import type { Search } from "./filters";
import { SavedViews } from "./SavedViews";

interface Props extends Omit<ComponentProps<typeof SavedViews>, "builtIn"> {
  /** The folder that has the words for it. */
  words: string;
  /** The filters of the views that everybody has. */
  views: Record<string, Search>;
  /** The keys that this list knows. */
  keys: readonly string[];
  isHelp: boolean;
  onHelp: (isOpen: boolean) => void;
  /** Buttons at the end. */
  children: ReactNode;
}

/** The head of a list with filters: its name, saved views, the keys, and what can be done. */
export function ListHead({ words, views, keys, isHelp, onHelp, children, ...saved }: Props) {
  const { t } = useTranslation("lists");
  const own = useTranslation(words).t;
  const builtIn = Object.entries(views).map(([word, filter]) => ({ name: own(`view.${word}`), filter }));
  return (
    <div className="page-head">
      <h1>{own("title")}</h1>
      <SavedViews builtIn={builtIn} {...saved} />
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
      {isHelp && <KeysHelp onClose={() => onHelp(false)} keys={keys.map((key) => [key, own(`key.${key}`)])} />}
    </div>
  );
}

/** The keys of a list, in words. */
function KeysHelp({ keys, onClose }: { keys: [string, string][]; onClose: () => void }) {
  const { t } = useTranslation("lists");
  return (
    <Dialog onClose={onClose} title={t("keys")} size="sm">
      <Facts className="keys" of={keys.map(([key, does]) => [<Kbd key={key} of={key} />, does])} />
    </Dialog>
  );
}
