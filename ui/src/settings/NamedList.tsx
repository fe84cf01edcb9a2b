import type { UseQueryResult } from "@tanstack/react-query";
import { type ComponentType, type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { ChangeOrDelete } from "@/forms/ChangeOrDelete";
import { useDone } from "@/forms/useDone";
import { useWhyNot } from "@/login/rights";
import { Act } from "@/parts/Act";
import { Answer, Empty } from "@/parts/Answer";
import { Panel } from "@/parts/Panel";
import { Table } from "@/parts/Table";
import { Moment } from "@/parts/Time";

interface Named {
  name: string;
  key_id: string;
  updated_at: string;
}

export interface FormProps {
  /** "" = a new one. */
  name: string;
  onClose: () => void;
  onSaved: (name: string) => void;
}

interface Props<T extends Named> {
  title: string;
  of: UseQueryResult<{ items: readonly T[] }>;
  empty: string;
  emptyHelp: string;
  /** What one says besides its name: a column. */
  told?: { title: string; cell: (item: T) => ReactNode };
  acts?: (item: T, whyNot: string | null) => ReactNode;
  /** The word on the button that makes one. */
  verb: string;
  /** Makes one, or gives it another value. */
  form: ComponentType<FormProps>;
  remove: (name: string) => Promise<unknown>;
  /** What is read again after a change: words of queries. */
  touches: readonly string[];
}

/** Secrets of one kind: each by its name, with the key that encrypts it; values are never shown. */
export function NamedList<T extends Named>(props: Props<T>) {
  const { t } = useTranslation("settings");
  const { told, touches, form: Form } = props;
  const whyNot = useWhyNot("ADMIN");
  const done = useDone(...touches);
  const [editing, setEditing] = useState<string | null>(null);
  return (
    <Panel
      title={props.title}
      remark={props.of.data?.items.length}
      end={<Act size="xs" why={whyNot} onClick={() => setEditing("")} word={props.verb} />}
    >
      <Answer of={props.of} empty={<Empty title={props.empty}>{props.emptyHelp}</Empty>}>
        {(all) => (
          <Table heads={[t("name"), told?.title, t("key"), { num: t("changed") }, { unseen: t("actions") }]}>
            {all.items.map((each) => (
              <tr key={each.name}>
                <td>{each.name}</td>
                {told && <td className="mono wide">{told.cell(each)}</td>}
                <td className="mono">{each.key_id}</td>
                <td className="num">
                  <Moment at={each.updated_at} />
                </td>
                <td>
                  <div className="row-acts">
                    {props.acts?.(each, whyNot)}
                    <ChangeOrDelete
                      name={each.name}
                      whyNot={whyNot}
                      verb={t("replace")}
                      onChange={() => setEditing(each.name)}
                      remove={() => props.remove(each.name)}
                      touches={touches}
                    >
                      <p>{t("deleteUsed")}</p>
                    </ChangeOrDelete>
                  </div>
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Answer>
      {editing !== null && (
        <Form
          name={editing}
          onClose={() => setEditing(null)}
          onSaved={(name) => {
            setEditing(null);
            void done(t("savedNamed", { name }));
          }}
        />
      )}
    </Panel>
  );
}
