import { TextInput } from "@mantine/core";
import { type UseQueryResult, useMutation } from "@tanstack/react-query";
import type { ChangeEvent, ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { ChangeOrDelete } from "@/forms/ChangeOrDelete";
import { Form } from "@/forms/Form";
import { faultBeside } from "@/forms/faults";
import { Refusal } from "@/forms/Refusal";
import { Submit } from "@/forms/Submit";
import { useDone } from "@/forms/useDone";
import { useFields } from "@/forms/useFields";
import { useWhyNot } from "@/login/rights";
import { Facts } from "@/parts/Facts";
import { Panel } from "@/parts/Panel";
import { Moment } from "@/parts/Time";
import { ListAndDetail, useOpen } from "./ListAndDetail";

interface Named {
  name: string;
  key_id: string;
  updated_at: string;
}

/** What the field of the value is given. */
interface Given {
  value: string;
  error: ReactNode;
  readOnly: boolean;
  onChange: (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => void;
}

interface Props<T extends Named> {
  section: string;
  of: UseQueryResult<{ items: readonly T[] }>;
  /** The field of the request that is its value. */
  field: "url" | "script";
  /** What is shown of its value. */
  told?: (item: T) => readonly [word: string, text: ReactNode];
  /** The field in which its value is typed. */
  input: (given: Given) => ReactNode;
  /** Why what is typed cannot be saved. */
  whyNone?: string;
  /** Another button and what it says, for a saved one or what is typed. */
  also?: (name: string, value: string, whyNot: string | null) => ReactNode;
  save: (name: string, value: string) => Promise<unknown>;
  remove: (name: string) => Promise<unknown>;
  /** What is read again after a change: words of queries. */
  touches: readonly string[];
}

/** Secrets of one kind: each by its name, with the key that encrypts it; values are written and never shown. */
export function NamedList<T extends Named>(props: Props<T>) {
  const whyNot = useWhyNot("ADMIN");
  return (
    <ListAndDetail
      section={props.section}
      of={props.of}
      keyOf={(each) => each.name}
      row={(each) => [each.name]}
      whyNot={whyNot}
      form={<NamedPanel {...props} whyNot={whyNot} />}
    >
      {(item) => <NamedPanel {...props} item={item} whyNot={whyNot} />}
    </ListAndDetail>
  );
}

/** One of them, or the form of a new one. */
function NamedPanel<T extends Named>({ item, whyNot, ...props }: Props<T> & { item?: T; whyNot: string | null }) {
  const { t } = useTranslation("settings");
  const { section, field, touches } = props;
  const open = useOpen(section);
  const done = useDone(...touches);
  const { values, change, fieldsOf } = useFields({ name: item?.name ?? "", [field]: "" });
  const name = values.name ?? "";
  const value = values[field] ?? "";
  const save = useMutation({
    mutationFn: () => props.save(name, value),
    onSuccess: async () => {
      change({ [field]: "" });
      await done(t("savedNamed", { name }));
      open(name);
    },
  });
  const fields = fieldsOf(save.error);
  const why = name === "" ? t("nameFirst") : value === "" ? (props.whyNone ?? null) : null;
  return (
    <Panel
      title={item?.name ?? t(`new.${section}`)}
      end={
        item && (
          <ChangeOrDelete
            name={name}
            whyNot={whyNot}
            remove={() => props.remove(name)}
            onGone={() => open(null)}
            touches={touches}
          >
            <p>{t("deleteUsed")}</p>
          </ChangeOrDelete>
        )
      }
    >
      <div className="form pad">
        {item && (
          <Facts
            className="facts"
            of={[
              ...(props.told ? [props.told(item)] : []),
              [t("key"), <code key="key">{item.key_id}</code>],
              [t("changed"), <Moment key="changed" at={item.updated_at} />],
            ]}
          />
        )}
        <Form send={whyNot === null && why === null && !save.isPending ? save.mutate : null}>
          {item === undefined && <TextInput label={t("name")} readOnly={whyNot !== null} {...fields("name")} />}
          {props.input({ ...fields(field), value, readOnly: whyNot !== null })}
          <Refusal error={faultBeside(save.error, "name", field)} />
          <div className="form-end">
            <Submit isPending={save.isPending} why={whyNot ?? why} word={t(item ? "replace" : "save")} />
            {props.also?.(item?.name ?? "", value, whyNot)}
          </div>
        </Form>
      </div>
    </Panel>
  );
}
