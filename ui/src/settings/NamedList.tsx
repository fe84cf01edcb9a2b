import type { UseQueryResult } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { Confirm } from "@/forms/Confirm";
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

interface Props<T extends Named> {
  title: string;
  of: UseQueryResult<{ items: readonly T[] }>;
  whyNot: string | null;
  empty: string;
  emptyHelp: string;
  /** What one says besides its name: a column. */
  told?: { title: string; cell: (item: T) => ReactNode };
  acts?: (item: T) => ReactNode;
  add: { verb: string; onClick: () => void };
  onChange: (item: T) => void;
  removal: { isPending: boolean; error: Error | null; help: string; run: (name: string, gone: () => void) => void };
}

/** Secrets of one kind: each by its name, with the key that encrypts it; values are never shown. */
export function NamedList<T extends Named>(props: Props<T>) {
  const { t } = useTranslation("settings");
  const { told, whyNot, removal } = props;
  const [going, setGoing] = useState<string | null>(null);
  return (
    <Panel
      title={props.title}
      remark={props.of.data?.items.length}
      end={
        <Act size="xs" why={whyNot} onClick={props.add.onClick}>
          {props.add.verb}
        </Act>
      }
    >
      <Answer
        of={props.of}
        isEmpty={(all) => all.items.length === 0}
        empty={<Empty title={props.empty}>{props.emptyHelp}</Empty>}
      >
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
                    {props.acts?.(each)}
                    <Act size="compact-sm" variant="default" why={whyNot} onClick={() => props.onChange(each)}>
                      {t("replace")}
                    </Act>
                    <Act size="compact-sm" variant="default" why={whyNot} onClick={() => setGoing(each.name)}>
                      {t("delete")}
                    </Act>
                  </div>
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Answer>
      {going !== null && (
        <Confirm
          title={t("deleteNamed", { name: going })}
          verb={t("delete")}
          isPending={removal.isPending}
          error={removal.error}
          onConfirm={() => removal.run(going, () => setGoing(null))}
          onClose={() => setGoing(null)}
        >
          <p>{removal.help}</p>
        </Confirm>
      )}
    </Panel>
  );
}
