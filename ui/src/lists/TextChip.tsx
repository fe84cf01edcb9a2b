import { Autocomplete, Button, TextInput } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { sends } from "@/parts/sends";
import { Chip } from "./ChoiceChip";

interface Props {
  name: string;
  value: string | undefined;
  placeholder?: string;
  /** What can be chosen; anything else can be typed too. */
  known?: string[];
  onChange: (value: string | undefined) => void;
}

/** A filter by a name, typed or chosen. */
export function TextChip({ name, value, placeholder = "", known, onChange }: Props) {
  const { t } = useTranslation("lists");
  const [opened, setOpened] = useState(false);
  const [typed, setTyped] = useState(value ?? "");
  const take = (wanted: string) => {
    setOpened(false);
    onChange(wanted.trim() === "" ? undefined : wanted.trim());
  };
  const field = { "aria-label": name, placeholder, value: typed, size: "xs" as const, "data-autofocus": true };
  return (
    <Chip
      name={name}
      value={value ?? null}
      onClear={() => {
        setTyped("");
        onChange(undefined);
      }}
      opened={opened}
      onOpened={(wanted) => {
        setTyped(value ?? "");
        setOpened(wanted);
      }}
    >
      <form className="line" onSubmit={sends(() => take(typed))}>
        {known === undefined ? (
          <TextInput {...field} onChange={(event) => setTyped(event.currentTarget.value)} />
        ) : (
          <Autocomplete
            {...field}
            data={[...new Set(known)]}
            limit={12}
            comboboxProps={{ withinPortal: false }}
            onChange={setTyped}
            onOptionSubmit={take}
          />
        )}
        <Button type="submit" size="xs">
          {t("filter")}
        </Button>
      </form>
    </Chip>
  );
}
