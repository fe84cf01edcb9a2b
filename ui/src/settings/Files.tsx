import { TextInput } from "@mantine/core";
import { keepPreviousData, useInfiniteQuery, useMutation } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { Fragment, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, type Schemas } from "@/api/client";
import { paged } from "@/api/reads";
import { bytes } from "@/cluster/bytes";
import { ChangeOrDelete } from "@/forms/ChangeOrDelete";
import { useDone } from "@/forms/useDone";
import { useMay } from "@/login/rights";
import { RowAct, SmallAct } from "@/parts/Act";
import { Answer, Empty } from "@/parts/Answer";
import { WorkflowLink } from "@/parts/Links";
import { More } from "@/parts/More";
import { sayFailure, sayIncomplete } from "@/parts/notices";
import { Panel } from "@/parts/Panel";
import { saveFile } from "@/parts/saveFile";
import { Table } from "@/parts/Table";
import { Moment } from "@/parts/Time";
import { count } from "@/parts/time";
import { useAddress } from "@/parts/useAddress";
import { FileForm, type Saved } from "./FileForm";
import { bytesOf } from "./fileContent";

const TOUCHES = "project-files";

/** The files of a project that its tasks get. Which are shown is in the address. */
export function Files({ project }: { project: string }) {
  const { t } = useTranslation("settings");
  const search = useSearch({ strict: false }) as { under?: unknown };
  const under = String(search.under ?? "");
  const mayEdit = useMay("EDITOR", project);
  const done = useDone(TOUCHES);
  const [editing, setEditing] = useState<string | null>(null);
  const found = useInfiniteQuery({
    ...paged([TOUCHES, project, under], (at) =>
      api.GET("/api/v1/projects/{name}/files", { params: { path: { name: project }, query: { under, ...at } } }),
    ),
    placeholderData: keepPreviousData,
  });
  const onSaved = (saved: readonly Saved[]) => {
    setEditing(null);
    void done(t("filesSaved", { count: saved.length }));
    const outdated = [...new Set(saved.flatMap((each) => each.outdated))].sort();
    if (outdated.length > 0) sayIncomplete(<Outdated project={project} names={outdated} />);
  };
  // Not while a filter is taken away: what is typed into stays.
  const isNone = under === "" && !found.isPlaceholderData && !found.data?.items.length;
  return (
    <Panel
      title={t("files")}
      remark={found.data && `${count(found.data.items.length)}${found.hasNextPage ? "+" : ""}`}
      end={mayEdit && <SmallAct onClick={() => setEditing("")} word={t("upload")} />}
    >
      {!isNone && <UnderFilter value={under} />}
      <Answer
        of={found}
        empty={isNone ? <Empty title={t("noFiles")}>{t("noFilesHelp")}</Empty> : <Empty title={t("noFile")} />}
      >
        {({ items }) => <FileTable project={project} files={items} mayEdit={mayEdit} onReplace={setEditing} />}
      </Answer>
      <More of={found} word={t("more")} />
      {editing !== null && (
        <FileForm project={project} path={editing} onClose={() => setEditing(null)} onSaved={onSaved} />
      )}
    </Panel>
  );
}

function UnderFilter({ value }: { value: string }) {
  const { t } = useTranslation("settings");
  const change = useAddress<{ under: string }>();
  return (
    <div className="pad">
      <TextInput
        className="narrow"
        aria-label={t("pathBegins")}
        placeholder={t("pathBegins")}
        value={value}
        onChange={(event) => change({ under: event.currentTarget.value })}
      />
    </div>
  );
}

interface TableProps {
  project: string;
  files: readonly Schemas["FileAnswer"][];
  mayEdit: boolean;
  onReplace: (path: string) => void;
}

function FileTable({ project, files, mayEdit, onReplace }: TableProps) {
  const { t } = useTranslation("settings");
  const params = (path: string) => ({ params: { path: { name: project }, query: { path } } });
  const download = useMutation({
    mutationFn: (path: string) => api.GET("/api/v1/projects/{name}/file", params(path)),
    onSuccess: ({ path, content }) => saveFile(path.slice(path.lastIndexOf("/") + 1), bytesOf(content)),
    onError: sayFailure,
  });
  return (
    <Table heads={[t("path"), { num: t("size") }, { num: t("changed") }, t("changedBy"), { unseen: t("actions") }]}>
      {files.map(({ path, size, changed_at, changed_by }) => (
        <tr key={path}>
          <td className="mono" title={path}>
            {path}
          </td>
          <td className="num">{bytes(size)}</td>
          <td className="num">
            <Moment at={changed_at} />
          </td>
          <td>{changed_by}</td>
          <td>
            <div className="row-acts">
              <RowAct onClick={() => download.mutate(path)} word={t("download")} />
              {mayEdit && (
                <ChangeOrDelete
                  name={path}
                  whyNot={null}
                  verb={t("replace")}
                  onChange={() => onReplace(path)}
                  remove={() => api.DELETE("/api/v1/projects/{name}/file", params(path))}
                  touches={[TOUCHES]}
                >
                  <p>{t("deleteFileHelp")}</p>
                </ChangeOrDelete>
              )}
            </div>
          </td>
        </tr>
      ))}
    </Table>
  );
}

function Outdated({ project, names }: { project: string; names: readonly string[] }) {
  const { t } = useTranslation("settings");
  return (
    <>
      {t("filesOutdated")}{" "}
      {names.map((name, place) => (
        <Fragment key={name}>
          {place > 0 && ", "}
          <WorkflowLink project={project} name={name} />
        </Fragment>
      ))}
    </>
  );
}
