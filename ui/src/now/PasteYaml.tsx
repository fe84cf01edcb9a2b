import { Textarea } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { Act, SmallAct } from "@/parts/Act";
import { Dialog } from "@/parts/Dialog";
import { say, sayFailure } from "@/parts/notices";
import { useStartOrAsk } from "@/start/useStart";

const TYPED_MS = 300;
const FILE = "pasted.yaml";

/** A workflow as YAML, checked while it is typed, saved and run at once. */
export function PasteYaml({ text, onClose }: { text: string; onClose: () => void }) {
  const { t } = useTranslation("now");
  const cache = useQueryClient();
  const start = useStartOrAsk();
  const [typed, setTyped] = useState(text);
  const [asked] = useDebouncedValue(typed, TYPED_MS);
  const check = useQuery({
    queryKey: ["validate", asked],
    queryFn: () => api.POST("/api/v1/workflow-definitions:validate", { body: { files: fileOf(asked) } }),
    placeholderData: keepPreviousData,
  });
  const save = useMutation({
    mutationFn: (_: { thenRun: boolean }) =>
      api.POST("/api/v1/workflow-definitions:apply", { body: { dry_run: false, files: fileOf(typed) } }),
    onSuccess: ({ workflows }, { thenRun }) => {
      void cache.invalidateQueries({ queryKey: ["workflows"] });
      say(t("saved", { names: workflows.map((each) => each.name).join(", ") }));
      const first = workflows[0];
      if (thenRun && first !== undefined) void start({ code: first.code, name: first.name });
      onClose();
    },
    onError: sayFailure,
  });
  const problems = check.data?.problems ?? [];
  const isGood = check.data?.valid === true && asked === typed;
  return (
    <Dialog onClose={onClose} size="lg" title={t("paste")}>
      <div className="stack">
        <Textarea
          aria-label={t("paste")}
          classNames={{ input: "mono-input" }}
          autosize
          minRows={10}
          maxRows={24}
          spellCheck={false}
          data-autofocus
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        <div role="status">
          {check.error !== null && <p className="output">{check.error.message}</p>}
          {problems.map((each) => (
            <p key={`${each.line}${each.sentence}`} className="line">
              <i className="st" data-s="FAILURE" aria-hidden />
              {each.line != null && <b>{t("lineNumber", { line: each.line })}</b>} {each.sentence}
            </p>
          ))}
          {isGood && (
            <p className="line">
              <i className="st" data-s="SUCCESS" aria-hidden />
              {t("checkedGood")}
            </p>
          )}
        </div>
        <div className="line end">
          <SmallAct loading={save.isPending} onClick={() => save.mutate({ thenRun: false })} word={t("save")} />
          <Act
            size="xs"
            loading={save.isPending}
            onClick={() => save.mutate({ thenRun: true })}
            word={t("saveAndRun")}
          />
        </div>
      </div>
    </Dialog>
  );
}

function fileOf(content: string) {
  return [{ name: FILE, content }];
}
