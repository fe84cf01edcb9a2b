import { Button, Popover, Switch, TextInput, UnstyledButton } from "@mantine/core";
import { IconPlus, IconX } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, match, type Schemas } from "@/api/client";
import { asked } from "@/api/reads";
import { useProject } from "@/app/ProjectSwitch";
import { useDone } from "@/forms/useDone";
import { sayFailure } from "@/parts/notices";
import { sends } from "@/parts/sends";
import { type Filters, filterWords, isSame, type Search, textOf, textsOf } from "./filters";

type List = Schemas["NewView"]["list"];

/** Views that everybody has: a name and the filters it stands for. */
export interface BuiltIn {
  name: string;
  filter: Search;
}

function viewsOf(list: List) {
  return asked(["saved-views", list], () =>
    api.GET("/api/v1/saved-views", { params: { query: { list, limit: 100 } } }),
  );
}

/** The views of a list: those that everybody has, one's own, those of one's projects, and a way to save what is shown. */
export function SavedViews({ list, builtIn, filters }: { list: List; builtIn: BuiltIn[]; filters: Filters }) {
  const { t } = useTranslation("lists");
  const done = useDone("saved-views");
  const saved = useQuery(viewsOf(list));
  const shown = filterWords(filters.search);
  const remove = useMutation({
    mutationFn: (view: Schemas["ViewAnswer"]) =>
      api.DELETE("/api/v1/saved-views/{id}", {
        params: { path: { id: view.id }, header: match(view.revision) },
      }),
    onSuccess: (_, view) => done(t("viewRemoved", { name: view.name })),
    onError: sayFailure,
  });
  return (
    <nav className="views" aria-label={t("views")}>
      {builtIn.map((view) => (
        <View
          key={view.name}
          name={view.name}
          isShown={isShownAs(shown, view.filter)}
          show={() => filters.replace(view.filter)}
        />
      ))}
      {saved.data?.items.map((view) => {
        const filter = view.query as Search;
        return (
          <span key={view.id} className="line">
            <View
              name={view.name}
              title={view.project ? t("sharedWith", { project: view.project, name: view.created_by }) : t("ownView")}
              isShown={isShownAs(shown, filter)}
              show={() => filters.replace(filter)}
            />
            {view.is_own && isShownAs(shown, filter) && (
              <UnstyledButton
                className="chip-clear"
                aria-label={t("removeView", { name: view.name })}
                title={t("removeView", { name: view.name })}
                onClick={() => remove.mutate(view)}
              >
                <IconX size={12} stroke={1.75} aria-hidden />
              </UnstyledButton>
            )}
          </span>
        );
      })}
      <SaveView list={list} filter={shown} />
    </nav>
  );
}

function View({ name, title, isShown, show }: { name: string; title?: string; isShown: boolean; show: () => void }) {
  return (
    <UnstyledButton className="view" title={title} aria-pressed={isShown} onClick={show}>
      {name}
    </UnstyledButton>
  );
}

function SaveView({ list, filter }: { list: List; filter: Search }) {
  const { t } = useTranslation("lists");
  const done = useDone("saved-views");
  const project = useProject();
  const [opened, setOpened] = useState(false);
  const [name, setName] = useState("");
  const [isShared, setIsShared] = useState(false);
  const save = useMutation({
    mutationFn: () =>
      api.POST("/api/v1/saved-views", {
        body: { list, name: name.trim(), query: asTexts(filter), ...(isShared && project !== null && { project }) },
      }),
    onSuccess: () => {
      setOpened(false);
      setName("");
      return done(t("viewSaved", { name: name.trim() }));
    },
  });
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-start" shadow="md" trapFocus returnFocus>
      <Popover.Target>
        <UnstyledButton
          className="view"
          aria-label={t("saveView")}
          title={t("saveView")}
          onClick={() => setOpened(!opened)}
        >
          <IconPlus size={14} stroke={1.75} aria-hidden />
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown>
        <form className="stack" onSubmit={sends(() => save.mutate())}>
          <TextInput
            label={t("viewName")}
            size="xs"
            required
            data-autofocus
            value={name}
            error={save.error?.message}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <Switch
            size="xs"
            label={project === null ? t("shareNoProject") : t("share", { project })}
            disabled={project === null}
            checked={isShared && project !== null}
            onChange={(event) => setIsShared(event.currentTarget.checked)}
          />
          <Button type="submit" size="xs" loading={save.isPending}>
            {t("save")}
          </Button>
        </form>
      </Popover.Dropdown>
    </Popover>
  );
}

/** Filters that have several values; an address with one of them has a text. */
const LISTS = ["state", "trigger", "parameter", "type"];

/** An address may have numbers and single values; the API takes texts and lists. */
function asTexts(filter: Search): Schemas["NewView"]["query"] {
  return Object.fromEntries(
    Object.keys(filter).map((name) => [
      name,
      LISTS.includes(name) ? textsOf(filter, name) : filter[name] === true || (textOf(filter, name) ?? ""),
    ]),
  );
}

/** One form for each filter, however its address was written. */
function isShownAs(shown: Search, filter: Search): boolean {
  return isSame(asTexts(shown), asTexts(filter));
}
