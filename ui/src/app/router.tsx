/** The pages and their addresses. A page's filters, tabs and selection are in its address too. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  Link,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { ROOT } from "@/api/client";
import { queries } from "@/api/queries";
import { sourceOf } from "@/editor/queries";
import { currentSession } from "@/login/session";
import { Empty } from "@/parts/Answer";
import { runOf } from "@/run/queries";
import { loadWords } from "@/words/i18n";
import { PageFailure } from "./PageFailure";
import { Shell } from "./Shell";

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFound, errorComponent: PageFailure });

const login = createRoute({
  getParentRoute: () => root,
  path: "/login",
  validateSearch: (given: Record<string, unknown>): { link?: string; back?: string } => ({
    ...(typeof given.link === "string" && { link: given.link }),
    ...(typeof given.back === "string" && { back: given.back }),
  }),
  component: lazyRouteComponent(() => import("@/login/LoginPage"), "LoginPage"),
});

const shell = createRoute({
  getParentRoute: () => root,
  id: "shell",
  beforeLoad: async ({ location }) => {
    if ((await currentSession()) === null)
      throw redirect({ to: "/login", search: location.href === "/" ? {} : { back: location.href } });
  },
  component: Shell,
  errorComponent: PageFailure,
});

type Load = () => Promise<Record<string, () => ReactNode>>;

/**
 * A page of the shell, whose code and words are loaded when it is opened. Filters keep their words: a page checks its
 * own.
 */
function page<Path extends string>(path: Path, load: Load, name: string, ...words: string[]) {
  return createRoute({
    getParentRoute: () => shell,
    path,
    validateSearch: (given: Record<string, unknown>): Record<string, unknown> => given,
    component: lazyRouteComponent(() => withWords(load, words), name),
  });
}

/** The words load together with the code, not after it. */
async function withWords<Loaded>(load: () => Promise<Loaded>, words: string[]): Promise<Loaded> {
  const [loaded] = await Promise.all([load(), loadWords(words)]);
  return loaded;
}

/** A run is asked for while the code of its page is loaded. */
const run = createRoute({
  getParentRoute: () => shell,
  path: "/runs/$id",
  validateSearch: (given: Record<string, unknown>): Record<string, unknown> => given,
  loader: ({ params }) => void queries.prefetchQuery(runOf(params.id)),
  component: lazyRouteComponent(() => withWords(() => import("@/run/RunPage"), ["run"]), "RunPage"),
});

/** So is a workflow, but not while somebody only points at it: its text can be long. */
const workflow = createRoute({
  getParentRoute: () => shell,
  path: "/workflows/$project/$name",
  validateSearch: (given: Record<string, unknown>): Record<string, unknown> => given,
  loader: ({ params, preload }) => {
    if (!preload) void queries.prefetchQuery(sourceOf(params.project, params.name));
  },
  component: lazyRouteComponent(
    () => withWords(() => import("@/workflow/WorkflowPage"), ["workflow", "workflows", "start", "forms"]),
    "WorkflowPage",
  ),
});

const routes = root.addChildren([
  login,
  shell.addChildren([
    page("/", () => import("@/now/NowPage"), "NowPage", "now", "lists", "runs", "start"),
    page("/runs", () => import("@/runs/RunsPage"), "RunsPage", "runs", "lists"),
    run,
    page("/attempts", () => import("@/attempts/AttemptsPage"), "AttemptsPage", "attempts", "lists", "runs"),
    page("/workflows", () => import("@/workflows/WorkflowsPage"), "WorkflowsPage", "workflows", "start", "forms"),
    page("/workflows/import", () => import("@/importing/ImportPage"), "ImportPage", "importing", "editor", "forms"),
    workflow,
    page("/relations", () => import("@/relations/RelationsPage"), "RelationsPage", "relations"),
    page("/schedules", () => import("@/schedules/SchedulesPage"), "SchedulesPage", "schedules"),
    page("/schedules/backfill", () => import("@/schedules/BackfillPage"), "BackfillPage", "schedules"),
    page(
      "/schedules/backfills/$id",
      () => import("@/schedules/BackfillProgressPage"),
      "BackfillProgressPage",
      "schedules",
    ),
    page("/queue", () => import("@/queue/QueuePage"), "QueuePage", "queue", "forms"),
    page("/cluster", () => import("@/cluster/ClusterPage"), "ClusterPage", "cluster", "pools"),
    page("/alerts", () => import("@/alerts/AlertsPage"), "AlertsPage", "alerts", "lists", "forms"),
    page("/settings", () => import("@/settings/SettingsPage"), "SettingsPage", "settings", "editor"),
    page("/settings/$section", () => import("@/settings/SettingsPage"), "SettingsPage", "settings", "editor"),
  ]),
]);

export const router = createRouter({
  routeTree: routes,
  basepath: ROOT,
  defaultPreload: "intent",
  defaultPreloadDelay: 60,
  scrollRestoration: true,
});

/** Begin to load the page that the address names, and who is logged in, before anything of it is drawn. */
export function startLoading(): void {
  for (const { routeId } of router.matchRoutes(router.latestLocation)) {
    // What went wrong is shown by the page, which asks again.
    if (routeId === shell.id) void currentSession().catch(() => undefined);
    void router.loadRouteChunk(router.routesById[routeId as keyof typeof router.routesById])?.catch(() => undefined);
  }
}

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

/** There is no page at this address. */
function NotFound() {
  const { t } = useTranslation("app");
  return (
    <div className="page">
      <Empty title={t("noPage")}>
        <p>
          <Link to="/">{t("toNow")}</Link>
        </p>
      </Empty>
    </div>
  );
}
