import { TextInput } from "@mantine/core";
import { IconPlus, IconX } from "@tabler/icons-react";
import { useTranslation } from "react-i18next";
import { Act } from "@/parts/Act";
import { IconAct } from "@/parts/IconAct";

export interface Pair {
  id: number;
  name: string;
  value: string;
}

let last = 0;

/** Values by name as rows that can be edited. */
export function pairsOf(values: Record<string, string>): Pair[] {
  return Object.entries(values).map(([name, value]) => newPair(name, value));
}

/** The values of rows; rows without a name say nothing. */
export function valuesOf(pairs: Pair[]): Record<string, string> {
  return Object.fromEntries(
    pairs.filter((pair) => pair.name.trim() !== "").map(({ name, value }) => [name.trim(), value]),
  );
}

function newPair(name = "", value = ""): Pair {
  last += 1;
  return { id: last, name, value };
}

interface Props {
  label: string;
  pairs: Pair[];
  onChange: (pairs: Pair[]) => void;
  error?: string | undefined;
  whyNot?: string | null;
}

/** Parameters: names and values, one a line. */
export function Pairs({ label, pairs, onChange, error, whyNot = null }: Props) {
  const { t } = useTranslation("forms");
  const change = (id: number, to: Partial<Pair>) =>
    onChange(pairs.map((pair) => (pair.id === id ? { ...pair, ...to } : pair)));
  return (
    <fieldset className="pairs">
      <legend>{label}</legend>
      {pairs.map((pair) => (
        <div key={pair.id} className="line">
          <TextInput
            aria-label={t("parameterName")}
            autoFocus={pair.name === ""}
            placeholder={t("parameterName")}
            value={pair.name}
            readOnly={whyNot !== null}
            onChange={(event) => change(pair.id, { name: event.currentTarget.value })}
          />
          <span aria-hidden>=</span>
          <TextInput
            className="grow"
            aria-label={t("parameterValue", { name: pair.name })}
            placeholder={t("value")}
            value={pair.value}
            readOnly={whyNot !== null}
            onChange={(event) => change(pair.id, { value: event.currentTarget.value })}
          />
          {whyNot === null && (
            <IconAct
              icon={IconX}
              word={t("removeParameter", { name: pair.name })}
              onClick={() => onChange(pairs.filter((each) => each.id !== pair.id))}
            />
          )}
        </div>
      ))}
      {error !== undefined && <p className="field-fault">{error}</p>}
      {whyNot === null ? (
        <Act
          variant="subtle"
          size="compact-sm"
          leftSection={<IconPlus size={14} />}
          onClick={() => onChange([...pairs, newPair()])}
          word={t("addParameter")}
        />
      ) : (
        <p className="mute">{whyNot}</p>
      )}
    </fieldset>
  );
}
