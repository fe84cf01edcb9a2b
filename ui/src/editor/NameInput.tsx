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
  /** Where Enter and Tab lead from a new name, which may stand in another row than this one. */
  onNext?: (name: string) => void;
}

/** A name is changed as a whole, when it is left: half a name is nobody's. */
export function NameInput({ name, label, isBare = false, isFixed, names = [], hasFocus, inputRef, ...on }: Props) {
  const [typed, setTyped] = useState(name);
  useEffect(() => setTyped(name), [name]);
  const keep = (given: string) => {
    if (given.trim() === name && name !== "") return false;
    const isKept = on.onName(given.trim());
    if (!isKept) setTyped(name);
    return isKept;
  };
  const common = {
    ...(isBare ? { "aria-label": label, placeholder: label } : { label }),
    ...(inputRef !== undefined && { ref: inputRef }),
    autoFocus: hasFocus,
    withAsterisk: true,
    readOnly: isFixed,
    value: typed,
    onBlur: () => void keep(typed),
    onKeyDown: (event: KeyboardEvent<HTMLInputElement>) => {
      const { key, shiftKey, currentTarget } = event;
      const isNext = key === "Enter" || (key === "Tab" && !shiftKey && on.onNext !== undefined && typed.trim() !== "");
      // With the keys at an option, Enter takes that one.
      if (isNext && !currentTarget.getAttribute("aria-activedescendant") && keep(typed) && on.onNext !== undefined) {
        event.preventDefault();
        on.onNext(typed.trim());
      }
      if (key === "Escape") setTyped(name);
    },
  };
  if (names.length === 0) return <TextInput {...common} onChange={(event) => setTyped(event.currentTarget.value)} />;
  return <Autocomplete {...common} data={names} onChange={setTyped} onOptionSubmit={keep} />;
}
