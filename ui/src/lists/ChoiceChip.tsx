import { Checkbox, Popover } from "@mantine/core";
import { IconChevronDown, IconX } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

interface ShellProps {
  name: string;
  /** What is chosen, in words; null = nothing. */
  value: ReactNode | null;
  onClear: () => void;
  children: ReactNode;
  opened?: boolean;
  onOpened?: (opened: boolean) => void;
}

/** A filter as a chip: its name, what is chosen, and a way to take it away. Its choices open below it. */
export function Chip({ name, value, onClear, children, opened, onOpened }: ShellProps) {
  const { t } = useTranslation("lists");
  return (
    <span className="chip-pair" data-on={value !== null}>
      <Popover
        position="bottom-start"
        shadow="md"
        trapFocus
        returnFocus
        {...(opened !== undefined && { opened })}
        {...(onOpened !== undefined && { onChange: onOpened })}
      >
        <Popover.Target>
          <button type="button" className="chip" onClick={() => onOpened?.(!opened)}>
            {name} {value !== null && <b>{value}</b>}
            {value === null && <IconChevronDown size={12} stroke={1.5} aria-hidden />}
          </button>
        </Popover.Target>
        <Popover.Dropdown className="chip-choices">{children}</Popover.Dropdown>
      </Popover>
      {value !== null && (
        <button type="button" className="chip-clear" aria-label={t("clear", { name })} onClick={onClear}>
          <IconX size={12} stroke={1.75} aria-hidden />
        </button>
      )}
    </span>
  );
}

interface ChoiceProps<T extends string> {
  name: string;
  all: readonly T[];
  chosen: readonly T[];
  label: (value: T) => ReactNode;
  text: (value: T) => string;
  onChange: (chosen: T[]) => void;
}

/** A filter by some of a few known words. */
export function ChoiceChip<T extends string>({ name, all, chosen, label, text, onChange }: ChoiceProps<T>) {
  const value = chosen.length === 0 ? null : chosen.map(text).join(", ");
  return (
    <Chip name={name} value={value} onClear={() => onChange([])}>
      <Checkbox.Group aria-label={name} value={[...chosen]} onChange={(wanted) => onChange(wanted as T[])}>
        {all.map((each) => (
          <Checkbox key={each} value={each} label={label(each)} size="xs" />
        ))}
      </Checkbox.Group>
    </Chip>
  );
}
