/** What is read of schedules, and how they are changed. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, match, type Schemas } from "@/api/client";
import { queries } from "@/api/queries";
import { asked } from "@/api/reads";
import { shownZone } from "@/parts/time";

export type Schedule = Schemas["ScheduleAnswer"];
export type Detail = Schemas["ScheduleDetail"];
export type Change = Schemas["ChangeSchedule"];
export type Fire = Schemas["FireTime"];
export type Day = Schemas["CalendarDay"];

export interface Filter {
  project?: string;
  workflow?: string;
  state?: Schemas["ReleaseState"];
}

/** Some of the schedules, by id. */
export function schedulesOf(filter: Filter) {
  return queryOptions({
    queryKey: ["schedules", filter],
    queryFn: () => api.GET("/api/v1/schedules", { params: { query: { ...filter, limit: 1000 } } }),
    placeholderData: keepPreviousData,
  });
}

/** One schedule with all its options. */
export function scheduleOf(id: string) {
  return asked(["schedules", "one", id], () =>
    api.GET("/api/v1/schedules/{id}", { params: { path: { id }, query: { next: 1 } } }),
  );
}

/** Days from one to another, in the shown zone. */
export function calendarOf(from: string, to: string, filter: Pick<Filter, "project" | "workflow">) {
  const zone = shownZone();
  return queryOptions({
    queryKey: ["fires", "calendar", from, to, zone, filter],
    queryFn: () => api.GET("/api/v1/schedules:calendar", { params: { query: { from, to, zone, ...filter } } }),
    placeholderData: keepPreviousData,
  });
}

/** When a rule would fire. */
export function previewOf(rule: {
  cron: string;
  time_zone: string;
  start_time: string | null;
  end_time: string | null;
}) {
  return queryOptions({
    queryKey: ["fires", "preview", rule],
    queryFn: () => api.POST("/api/v1/schedules:preview", { body: { ...rule, count: 10 } }),
    placeholderData: keepPreviousData,
    retry: false,
  });
}

/** The backfills that were asked for last. */
export function recentBackfills(project: string | null) {
  return asked(["backfill", "recent", project], () =>
    api.GET("/api/v1/backfills", { params: { query: project === null ? {} : { project } } }),
  );
}

/** A backfill as it was asked for; that never changes. */
export function backfillOf(id: string) {
  return queryOptions({
    queryKey: ["backfill-dates", id],
    queryFn: () => api.GET("/api/v1/backfills/{id}", { params: { path: { id } } }),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Turn a schedule on or off. */
export function turn(schedule: Pick<Schedule, "id" | "version">, isOn: boolean): Promise<Schedule> {
  const params = { path: { id: schedule.id }, header: match(schedule.version) };
  return isOn ? api.POST("/api/v1/schedules/{id}/on", { params }) : api.POST("/api/v1/schedules/{id}/off", { params });
}

/** Have all that shows schedules read again. */
export async function changedSchedules(): Promise<void> {
  await Promise.all([
    queries.invalidateQueries({ queryKey: ["schedules"] }),
    queries.invalidateQueries({ queryKey: ["fires"] }),
  ]);
}
