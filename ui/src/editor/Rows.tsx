import { IconPlus, IconX } from "@tabler/icons-react";
import { useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { Act } from "@/parts/Act";
import { IconAct } from "@/parts/IconAct";
import { blankOf, blankPart } from "./model/fields";
import { asObject } from "./model/read";
import { NameInput } from "./NameInput";
import { WithNames } from "./names";
import { Fields, type OwnProps, SchemaField } from "./SchemaField";

/** What a new row has beside what it must have. */
const NEW_ROWS: Record<string, Record<string, unknown>> = { "DEPENDENT.items": { cycle: "today" } };

const INPUTS = "input:not([type=hidden]), textarea";

/** A list of objects: a frame for each. */
export function Rows({ field, path, value, values, scope, label }: OwnProps) {
  const { t } = useTranslation("editor");
  const rows = Array.isArray(value) ? value.map(asObject) : [];
  const key = `${scope.type}.${field.name}`;
  const one = t([`row.${key}`, `row.${field.name}`], { defaultValue: label });
  const made = { ...blankPart(field.fields), ...NEW_ROWS[key] };
  return (
    <fieldset className="form rows">
      <legend>{label}</legend>
      {rows.map((row, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place
        <fieldset key={place} className="form row-of" aria-label={`${one} ${place + 1}`}>
          <Fields fields={field.fields} path={[...path, place]} value={row} values={values} scope={scope} />
          {!scope.isFixed && (
            <IconAct
              icon={IconX}
              word={t("removeRow", { name: `${one} ${place + 1}` })}
              onClick={() => scope.set([...path, place], undefined)}
            />
          )}
        </fieldset>
      ))}
      {!scope.isFixed && (
        <Add
          word={one}
          onClick={() => (rows.length === 0 ? scope.set(path, [made]) : scope.set([...path, rows.length], made))}
        />
      )}
    </fieldset>
  );
}

function Add({ word, onClick }: { word: string; onClick: () => void }) {
  return (
    <Act
      variant="subtle"
      size="compact-sm"
      leftSection={<IconPlus size={14} aria-hidden />}
      onClick={onClick}
      word={word}
    />
  );
}

/** From the name of a row Enter and Tab lead to its value, though a row with another name is another row. */
function useNext() {
  const next = useRef("");
  return {
    on: (name: string) => {
      next.current = name;
    },
    of: (name: string) => (row: HTMLElement | null) => {
      if (row === null || next.current !== name) return;
      next.current = "";
      row.querySelectorAll<HTMLElement>(INPUTS)[1]?.focus();
    },
  };
}

/** Values by names: a field for each name that is expected, and a row for each other one. */
export function MapRows({ field, path, value, values, scope, label }: OwnProps) {
  const { t } = useTranslation("editor");
  const [isAdding, setAdding] = useState(false);
  const next = useNext();
  const given = asObject(value);
  const [inner] = field.fields;
  const one = t([`pair.${scope.type}.${field.name}`, `pair.${field.name}`, "pair.value"]);
  const add = (name: string) => {
    if (name in given) return false;
    if (name !== "" && inner !== undefined) scope.set([...path, name], blankOf(inner));
    setAdding(false);
    return true;
  };
  return (
    <WithNames {...scope} name={field.name} values={values}>
      {({ names, fields = [] }) => (
        <fieldset className="form rows">
          <legend>{label}</legend>
          {fields.map((each) => (
            <SchemaField
              key={each.name}
              field={each}
              path={[...path, each.name]}
              value={given[each.name]}
              values={values}
              scope={scope}
              label={each.name}
            />
          ))}
          {Object.keys(given)
            .filter((name) => !fields.some((each) => each.name === name))
            .map((name) => (
              <div key={name} className="pair" ref={next.of(name)}>
                <NameInput
                  name={name}
                  label={t("nameOf", { name })}
                  isBare
                  isFixed={scope.isFixed}
                  names={names}
                  onName={(to) => to !== "" && !(to in given) && scope.rename([...path, name], to)}
                  onNext={next.on}
                />
                {inner !== undefined && (
                  <SchemaField
                    field={inner}
                    path={[...path, name]}
                    value={given[name]}
                    values={values}
                    scope={scope}
                    label={name}
                    isBare
                    none={blankOf(inner)}
                  />
                )}
                {!scope.isFixed && (
                  <IconAct
                    icon={IconX}
                    word={t("removeRow", { name })}
                    onClick={() => scope.set([...path, name], undefined)}
                  />
                )}
              </div>
            ))}
          {isAdding && (
            <NameInput
              name=""
              label={t("newName")}
              isBare
              hasFocus
              isFixed={false}
              names={names}
              onName={add}
              onNext={next.on}
            />
          )}
          {!scope.isFixed && <Add word={one} onClick={() => setAdding(true)} />}
        </fieldset>
      )}
    </WithNames>
  );
}
