import { useTranslation } from "react-i18next";
import { Dialog } from "@/parts/Dialog";

/** The keys of a list, in words. */
export function KeysHelp({ keys, onClose }: { keys: [string, string][]; onClose: () => void }) {
  const { t } = useTranslation("lists");
  return (
    <Dialog onClose={onClose} title={t("keys")} size="sm">
      <dl className="keys">
        {keys.map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd className="kbd">{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
