import { Modal, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { type KeyboardEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { type Entry, grouped } from "./entries";
import type { PaletteMode } from "./open";
import "./palette.css";
import { useEntries } from "./useEntries";

const TYPED_MS = 120;
const LIST = "palette-list";

/** Search and commands in one field: what is found is chosen by the arrow keys and `enter`. */
export function Palette({ mode, onClose }: { mode: PaletteMode; onClose: () => void }) {
  const { t } = useTranslation("palette");
  const [typed, setTyped] = useState("");
  const [asked] = useDebouncedValue(typed.trim(), TYPED_MS);
  const { entries, error, isReading } = useEntries(mode, asked);
  const groups = grouped(entries);
  const ordered = groups.flatMap(([, of]) => of);
  const [chosen, setChosen] = useState("");
  const place = Math.max(
    0,
    ordered.findIndex((each) => each.id === chosen),
  );
  const current = ordered[place];
  const act = (entry: Entry | undefined) => {
    if (entry === undefined) return;
    onClose();
    entry.act();
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      const to = ordered[(place + step + ordered.length) % ordered.length];
      if (to === undefined) return;
      setChosen(to.id);
      document.getElementById(optionId(to))?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") act(current);
    else return;
    event.preventDefault();
  };
  return (
    <Modal
      opened
      onClose={onClose}
      withCloseButton={false}
      padding={0}
      size={620}
      yOffset="12vh"
      aria-label={t(`field.${mode}`)}
      classNames={{ content: "palette" }}
    >
      <TextInput
        size="md"
        variant="unstyled"
        data-autofocus
        role="combobox"
        aria-label={t(`field.${mode}`)}
        aria-expanded
        aria-controls={LIST}
        aria-activedescendant={current === undefined ? undefined : optionId(current)}
        placeholder={t(`field.${mode}`)}
        leftSection={<IconSearch size={16} stroke={1.5} />}
        value={typed}
        onChange={(event) => {
          setTyped(event.currentTarget.value);
          setChosen("");
        }}
        onKeyDown={press}
      />
      <div id={LIST} className="palette-list" role="listbox" aria-label={t(`field.${mode}`)} aria-busy={isReading}>
        {error !== null && <p className="fact">{error.message}</p>}
        {groups.map(([name, of]) => (
          // biome-ignore lint/a11y/useSemanticElements: a group of options, not of fields
          <div key={name} role="group" aria-label={name}>
            <p className="palette-group" aria-hidden>
              {name}
            </p>
            {of.map((entry) => (
              // biome-ignore lint/a11y/useKeyWithClickEvents: keys belong to the field above
              // biome-ignore lint/a11y/useFocusableInteractive: the field above keeps the focus
              <div
                key={entry.id}
                id={optionId(entry)}
                role="option"
                aria-selected={entry === current}
                onPointerMove={() => setChosen(entry.id)}
                onClick={() => act(entry)}
              >
                <entry.icon size={16} stroke={1.5} aria-hidden />
                <span className="cut">{entry.name}</span>
                <span className="mute cut">{entry.about}</span>
              </div>
            ))}
          </div>
        ))}
        {ordered.length === 0 && !isReading && <p className="fact">{t("none", { typed: asked })}</p>}
      </div>
      <footer className="palette-foot" aria-hidden>
        <span>
          <kbd className="kbd">↑</kbd> <kbd className="kbd">↓</kbd> {t("choose")}
        </span>
        <span>
          <kbd className="kbd">Enter</kbd> {t("open")}
        </span>
        <span>
          <kbd className="kbd">Esc</kbd> {t("close")}
        </span>
      </footer>
    </Modal>
  );
}

function optionId(entry: Entry): string {
  return `palette-${entry.id}`;
}
