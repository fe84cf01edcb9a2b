import { UnstyledButton } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { lazy, Suspense, useEffect } from "react";
import { useTranslation } from "react-i18next";
import { IS_MAC } from "@/parts/platform";
import { palette } from "./open";

const Palette = lazy(() => import("./Palette").then((all) => ({ default: all.Palette })));

/** In the top bar: what looks like a search field, and opens the palette. So does Ctrl-K anywhere. */
export function SearchField() {
  const { t } = useTranslation("app");
  const mode = palette.use();
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey)
        return;
      event.preventDefault();
      palette.set("all");
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  return (
    <>
      <UnstyledButton className="find wide" aria-keyshortcuts="Control+K Meta+K" onClick={() => palette.set("all")}>
        <IconSearch size={14} stroke={1.5} aria-hidden />
        <span className="grow cut">{t("find")}</span>
        <span className="kbd" aria-hidden>
          {IS_MAC ? "⌘ K" : "Ctrl K"}
        </span>
      </UnstyledButton>
      <span className="grow phone" />
      <UnstyledButton className="pick phone" aria-label={t("find")} onClick={() => palette.set("all")}>
        <IconSearch size={18} stroke={1.5} aria-hidden />
      </UnstyledButton>
      {mode !== null && (
        <Suspense fallback={null}>
          <Palette mode={mode} onClose={() => palette.set(null)} />
        </Suspense>
      )}
    </>
  );
}
