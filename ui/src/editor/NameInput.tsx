import { Autocomplete, TextInput } from "@mantine/core";
import { type KeyboardEvent, type Ref, useEffect, useState } from "react";

interface Props {
  name: string;
  label: string;
  /** Whether the label is read out, but not shown. */
  isBare?: boolean;
  isFixed: boolean;
  /** Names to choose from. */
  names?: string[];
  hasFocus?: boolean;
  inputRef?: Ref<HTMLInputElement>;
  /** Whether it can have that name. */
  onName: (name: string) => boolean;
}

/** A name is changed as a whole, when it is left: half a name is nobody's. */
export function NameInput({ name, label, isBare = false, isFixed, names = [], hasFocus, inputRef, onName }: Props) {
  const [typed, setTyped] = useState(name);
  useEffect(() => setTyped(name), [name]);
  const keep = (given: string) => {
    if ((given.trim() !== name || name === "") && !onName(given.trim())) setTyped(name);
  };
  const common = {
    ...(isBare ? { "aria-label": label } : { label }),
    ...(inputRef !== undefined && { ref: inputRef }),
    autoFocus: hasFocus,
    withAsterisk: true,
    readOnly: isFixed,
    value: typed,
    onBlur: () => keep(typed),
    onKeyDown: ({ key, currentTarget }: KeyboardEvent<HTMLInputElement>) => {
      // With the keys at an option, Enter takes that one.
      if (key === "Enter" && !currentTarget.getAttribute("aria-activedescendant")) keep(typed);
      if (key === "Escape") setTyped(name);
    },
  };
  if (names.length === 0) return <TextInput {...common} onChange={(event) => setTyped(event.currentTarget.value)} />;
  return <Autocomplete {...common} data={names} onChange={setTyped} onOptionSubmit={keep} />;
}
