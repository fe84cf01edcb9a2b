/** The pages and their addresses. A page's filters, tabs and selection are in its address too. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ROOT } from "@/api/client";
import { queries } from "@/api/queries";
import { currentSession } from "@/login/session";
import { runOf } from "@/run/queries";
import { NotFound } from "./NotFound";
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

/** A page of the shell, whose code is loaded when it is opened. Filters keep their words: a page checks its own. */
function page<Path extends string>(path: Path, load: () => Promise<Record<string, () => ReactNode>>, name: string) {
  return createRoute({
    getParentRoute: () => shell,
    path,
    validateSearch: (given: Record<string, unknown>): Record<string, unknown> => given,
    component: lazyRouteComponent(load, name),
  });
}

/** A run is asked for while the code of its page is loaded. */
const run = createRoute({
  getParentRoute: () => shell,
  path: "/runs/$id",
  validateSearch: (given: Record<string, unknown>): Record<string, unknown> => given,
  loader: ({ params }) => void queries.prefetchQuery(runOf(params.id)),
  component: lazyRouteComponent(() => import("@/run/RunPage"), "RunPage"),
});

const routes = root.addChildren([
  login,
  shell.addChildren([
    page("/", () => import("@/now/NowPage"), "NowPage"),
    page("/runs", () => import("@/runs/RunsPage"), "RunsPage"),
    run,
    page("/attempts", () => import("@/attempts/AttemptsPage"), "AttemptsPage"),
    page("/workflows", () => import("@/workflows/WorkflowsPage"), "WorkflowsPage"),
    page("/workflows/$project/$name", () => import("@/workflow/WorkflowPage"), "WorkflowPage"),
    page("/relations", () => import("@/relations/RelationsPage"), "RelationsPage"),
    page("/schedules", () => import("@/schedules/SchedulesPage"), "SchedulesPage"),
    page("/schedules/backfill", () => import("@/schedules/BackfillPage"), "BackfillPage"),
    page("/schedules/backfills/$id", () => import("@/schedules/BackfillProgressPage"), "BackfillProgressPage"),
    page("/queue", () => import("@/queue/QueuePage"), "QueuePage"),
    page("/cluster", () => import("@/cluster/ClusterPage"), "ClusterPage"),
    page("/settings", () => import("@/settings/SettingsPage"), "SettingsPage"),
    page("/settings/$section", () => import("@/settings/SettingsPage"), "SettingsPage"),
  ]),
]);

export const router = createRouter({
  routeTree: routes,
  basepath: ROOT,
  defaultPreload: "intent",
  defaultPreloadDelay: 60,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
