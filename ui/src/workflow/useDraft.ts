import { useMutation, useQuery } from "@tanstack/react-query";
import { useBlocker } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { ApiProblem, api, match, type Schemas } from "@/api/client";
import { queries } from "@/api/queries";
import { setField } from "@/editor/model/edits";
import { read } from "@/editor/model/read";
import { changedWorkflow, type Source, saveDraft, sourceOf } from "@/editor/queries";
import type { Editing } from "@/editor/useEditing";
import { say, sayFailure } from "@/parts/notices";
import { type Clash, clashOf, type Seen } from "./clash";

export type Saved = Schemas["SavedWorkflow"];

/** The draft of a workflow: what was read, whether the text differs from it, and how it is saved and published. */
export function useDraft(project: string, name: string, editing: Editing) {
  const { t } = useTranslation("workflow");
  const source = useQuery(sourceOf(project, name));
  const found = source.data;
  const { text } = editing;
  const { seen, isDirty, see, begin, beginAnew } = useSeen(found, editing);
  const clash = found === undefined || seen === null ? null : clashOf(found, isDirty ? seen : seenOf(found));
  const key = sourceOf(project, name).queryKey;
  const readAgain = () => queries.invalidateQueries({ queryKey: key });
  const orReadAgain = (error: Error) => (isClash(error) ? void readAgain() : sayFailure(error));
  const keep = async (content: string, on: Seen | null) => {
    const now = queries.getQueryData<Source>(key);
    if (now === undefined || on === null) throw new Error(t("notRead"));
    const kept = await store(project, name, content, on, now);
    see(kept.seen);
    queries.setQueryData<Source>(key, kept.source);
    if (kept.what === "layout") return kept.what;
    void queries.invalidateQueries({ queryKey: ["drafts"] });
    if (kept.version !== now.head?.version) void readAgain();
    return kept.what;
  };

  const save = useMutation({
    /** `isStep`: of publishing, so nothing is said of it. */
    mutationFn: (_isStep?: boolean) => keep(text, seen),
    onSuccess: (what, isStep) => isStep || say(t(what === "layout" ? "layoutSaved" : "draftSaved")),
    onError: (error) => {
      if (!isClash(error)) return sayFailure(error);
      void readAgain();
      sayFailure(new Error(t("notSaved")));
    },
  });
  /** Save the text as the draft of what is there now: it replaces that when it is published. */
  const takeMine = useMutation({
    mutationFn: ({ source: now }: Clash) =>
      keep(text, { text, base: now.head?.version, revision: now.draft?.revision }),
    onSuccess: () => say(t("minePlaced")),
    onError: orReadAgain,
  });
  /** Give the text up for this one. Deletes the draft if what was published is taken. */
  const takeTheirs = useMutation({
    mutationFn: async ({ kind, source: now }: Clash) => {
      const isKept = kind === "draft" && now.draft !== null;
      if (!isKept && now.draft !== null) await deleteDraft(project, name, now.draft.revision);
      return isKept ? now : { ...now, draft: null };
    },
    onSuccess: (now) => {
      startFrom(now);
      say(t("theirsTaken"));
    },
    onError: orReadAgain,
  });
  const startFrom = (now: Source) => {
    beginAnew(seenOf(now));
    if (now.head !== null) queries.setQueryData<Source>(key, now);
    changedWorkflow();
  };
  const discard = useMutation({
    mutationFn: async () => {
      if (seen?.revision !== undefined) await deleteDraft(project, name, seen.revision);
    },
    onSuccess: () => {
      const now = queries.getQueryData<Source>(key);
      startFrom({ head: now?.head ?? null, published: now?.published ?? "", draft: null });
      say(t("discarded"));
    },
    onError: orReadAgain,
  });
  const published = (saved: Saved) => {
    begin({ text, base: saved.version, revision: undefined });
    queries.setQueryData<Source>(key, { head: saved, published: text, draft: null });
    changedWorkflow();
    say(t(saved.is_new_version ? "published" : "publishedSame", { version: saved.version }));
  };
  return {
    source,
    isDirty,
    hasDraft: found?.draft != null,
    clash,
    base: seen?.base,
    readAgain,
    save,
    takeMine,
    takeTheirs,
    discard,
    /** Publish the draft as it was saved last. */
    publish: () => publishDraft(project, name, seen?.revision),
    published,
  };
}

export type DraftOf = ReturnType<typeof useDraft>;

/** What was seen when typing began: saving and publishing name that, not what came meanwhile. */
function useSeen(found: Source | undefined, { text, restart }: Editing) {
  const { t } = useTranslation("workflow");
  const [seen, see] = useState<Seen | null>(null);
  const isDirty = seen !== null && text !== seen.text;
  const dirty = useRef(isDirty);
  dirty.current = isDirty;
  useEffect(() => {
    if (found === undefined || dirty.current) return;
    const now = seenOf(found);
    see(now);
    restart(now.text);
  }, [found, restart]);
  useBlocker({
    shouldBlockFn: ({ current, next }) =>
      dirty.current && current.pathname !== next.pathname && !window.confirm(t("leave")),
    enableBeforeUnload: () => dirty.current,
  });
  /** What is typed has become this. */
  const begin = (now: Seen) => {
    dirty.current = false;
    see(now);
  };
  /** What is typed is given up for this. */
  const beginAnew = (now: Seen) => {
    begin(now);
    restart(now.text);
  };
  return { seen, isDirty, see, begin, beginAnew };
}

/** Whether a request was refused since the draft or the workflow is no longer what was seen. */
export function isClash(error: Error | null): boolean {
  return error instanceof ApiProblem && (error.status === 412 || error.status === 428);
}

function seenOf({ head, published, draft }: Source): Seen {
  if (draft === null) return { text: published, base: head?.version, revision: undefined };
  return { text: draft.content, base: draft.base_version ?? undefined, revision: draft.revision };
}

/** Save a text that began from `on`, as a layout if it differs in nothing else; says what is there and seen after that. */
async function store(project: string, name: string, content: string, on: Seen, now: Source) {
  const { head } = now;
  if (now.draft === null && head !== null && head.version === on.base && isLayoutAlone(content, now.published)) {
    await putLayout(head.code, content);
    const source = { ...now, published: content };
    return { what: "layout" as const, seen: { ...on, text: content }, source, version: head.version };
  }
  const saved = await saveDraft(project, name, content, on.revision, on.base);
  const seen = { text: content, base: saved.base_version ?? undefined, revision: saved.revision };
  const draft = { ...saved, content, published_between: now.draft?.published_between ?? [] };
  return { what: "draft" as const, seen, source: { ...now, draft }, version: saved.version ?? undefined };
}

function publishDraft(project: string, name: string, revision: number | undefined) {
  const params = { path: { project, name }, header: match(revision) };
  return api.POST("/api/v1/workflow-drafts/{project}/{name}/publish", { params });
}

async function deleteDraft(project: string, name: string, revision: number): Promise<void> {
  const params = { path: { project, name }, header: match(revision) };
  await api.DELETE("/api/v1/workflow-drafts/{project}/{name}", { params });
}

/** Whether two texts differ in where things stand and in nothing else: that needs no draft and makes no version. */
function isLayoutAlone(text: string, published: string): boolean {
  if (read(text).graph === null) return false;
  const bare = (whole: string) => setField(whole, null, ["layout"], undefined);
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
