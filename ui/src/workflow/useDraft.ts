import { useMutation, useQuery } from "@tanstack/react-query";
import { useBlocker } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { ApiProblem, api, bodyOf, type Schemas } from "@/api/client";
import { queries } from "@/api/queries";
import { setWorkflowField } from "@/editor/model/edits";
import { read } from "@/editor/model/read";
import { changedWorkflow, match, type Source, saveDraft, sourceOf } from "@/editor/queries";
import type { Editing } from "@/editor/useEditing";
import { say, sayFailure } from "@/parts/notices";

export type Saved = Schemas["SavedWorkflow"];

/** The draft of a workflow: what was read, whether the text differs from it, and how it is saved and published. */
export function useDraft(project: string, name: string, editing: Editing) {
  const { t } = useTranslation("workflow");
  const source = useQuery(sourceOf(project, name));
  const [kept, setKept] = useState<string | null>(null);
  const { restart, text } = editing;
  const isDirty = kept !== null && text !== kept;
  const dirty = useRef(isDirty);
  dirty.current = isDirty;
  const found = source.data;

  useEffect(() => {
    // What somebody else published meanwhile does not replace what is being typed.
    if (found === undefined || dirty.current) return;
    const start = found.draft?.content ?? found.published;
    setKept(start);
    restart(start);
  }, [found, restart]);

  useBlocker({
    shouldBlockFn: ({ current, next }) =>
      dirty.current && current.pathname !== next.pathname && !window.confirm(t("leave")),
    enableBeforeUnload: () => dirty.current,
  });

  const keep = async (content: string, base?: number) => {
    const now = queries.getQueryData<Source>(sourceOf(project, name).queryKey);
    if (now === undefined) throw new Error(t("notRead"));
    if (now.draft === null && now.head !== null && isLayoutAlone(content, now.published)) {
      await putLayout(now.head.code, content);
      queries.setQueryData<Source>(sourceOf(project, name).queryKey, { ...now, published: content });
      setKept(content);
      return "layout" as const;
    }
    const saved = await saveDraft(project, name, content, now.draft?.revision, base);
    const draft = { ...saved, content, published_between: now.draft?.published_between ?? [] };
    queries.setQueryData<Source>(sourceOf(project, name).queryKey, { ...now, draft });
    void queries.invalidateQueries({ queryKey: ["drafts"] });
    setKept(content);
    return "draft" as const;
  };

  const save = useMutation({
    mutationFn: () => keep(text),
    onSuccess: (what) => say(t(what === "layout" ? "layoutSaved" : "draftSaved")),
    onError: (error) => sayFailure(conflictOf(error, t("draftElsewhere"))),
  });
  const discard = useMutation({
    mutationFn: async () => {
      const now = queries.getQueryData<Source>(sourceOf(project, name).queryKey);
      const path = { project, name };
      if (now?.draft)
        await api.DELETE("/api/v1/workflow-drafts/{project}/{name}", {
          params: { path, header: match(now.draft.revision) },
        });
      return now;
    },
    onSuccess: (now) => {
      dirty.current = false;
      const published = now?.published ?? "";
      setKept(published);
      restart(published);
      if (now !== undefined && now.head !== null)
        queries.setQueryData<Source>(sourceOf(project, name).queryKey, { ...now, draft: null });
      changedWorkflow();
      say(t("discarded"));
    },
    onError: (error) => sayFailure(error),
  });
  const published = (saved: Saved) => {
    dirty.current = false;
    setKept(text);
    changedWorkflow();
    say(t(saved.is_new_version ? "published" : "publishedSame", { version: saved.version }));
  };
  return { source, isDirty, hasDraft: found?.draft != null, save, keep, discard, published };
}

export type DraftOf = ReturnType<typeof useDraft>;

/** Publish the draft as it was saved last. */
export async function publish(project: string, name: string): Promise<Saved> {
  const now = queries.getQueryData<Source>(sourceOf(project, name).queryKey);
  return bodyOf(
    api.POST("/api/v1/workflow-drafts/{project}/{name}/publish", {
      params: { path: { project, name }, header: match(now?.draft?.revision) },
    }),
  );
}

/** Whether two texts differ in where things stand and in nothing else: that needs no draft and makes no version. */
function isLayoutAlone(text: string, published: string): boolean {
  if (read(text).graph === null) return false;
  const bare = (whole: string) => setWorkflowField(whole, ["layout"], undefined);
  return bare(text) === bare(published);
}

async function putLayout(code: string, text: string): Promise<void> {
  const { graph } = read(text);
  if (graph === null) return;
  await api.PUT("/api/v1/workflow-definitions/{code}/layout", {
    params: { path: { code } },
    body: { tasks: graph.places, notes: graph.notes } as Schemas["Layout"],
  });
}

/** What a conflict means here, before the sentence of the server. */
function conflictOf(error: Error, sentence: string): Error {
  if (!(error instanceof ApiProblem) || error.status !== 412) return error;
  return new ApiProblem(error.status, error.code, `${sentence} ${error.message}`);
}
