/** Requests to Shoal: typed by the committed OpenAPI, with the session's CSRF secret, and problems as errors. */
import createClient, {
  type ClientPathsWithMethod,
  type FetchResponse,
  type MaybeOptionalInit,
  type Middleware,
} from "openapi-fetch";
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];
type ProblemDetails = Schemas["Problem"];

/** The root below which the API and the page are served, ending in "/". */
export const ROOT = new URL(document.baseURI).pathname.replace(/[^/]*$/, "");

/** An answer that is no success, as RFC 9457 describes it. `status` 0: the server was not reached. */
export class ApiProblem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly fields: NonNullable<ProblemDetails["errors"]> = [],
    readonly requestId = "",
    readonly retryAfterS: number | null = null,
  ) {
    super(detail);
  }
}

let csrf: string | null = null;

/** Remember the session's CSRF secret, which each changing request sends. */
export function setCsrf(secret: string | null): void {
  csrf = secret;
}

/** A key that makes a repeated request have its effect once. */
export function idempotencyKey(): string {
  return crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint8Array(16)), hex).join("");
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, "0");
}

const carriesSession: Middleware = {
  onRequest({ request }) {
    if (request.method !== "GET") {
      if (csrf !== null) request.headers.set("X-CSRF-Token", csrf);
      if (!request.headers.has("Idempotency-Key")) request.headers.set("Idempotency-Key", idempotencyKey());
    }
    request.headers.set("Accept-Language", document.documentElement.lang);
    return request;
  },
  async onResponse({ response }) {
    if (!response.ok) throw await problemOf(response);
    return response;
  },
  onError() {
    return new ApiProblem(0, "", "The server cannot be reached.");
  },
};

let waitForLogin: () => Promise<void> = () => Promise.resolve();

/** Set what waits until somebody has logged in again, after the session was found to be over. */
export function onSessionOver(wait: () => Promise<void>): void {
  waitForLogin = wait;
}

const ABOUT_SESSION = /\/api\/v1\/sessions(\/current)?$/;

/** Send a request. One that finds the session over waits for a login and is sent again: nothing that was asked is lost. */
async function send(request: Request): Promise<Response> {
  const again = ABOUT_SESSION.test(new URL(request.url).pathname) ? null : request.clone();
  const sentAs = csrf;
  const response = await fetch(request);
  if (response.status !== 401 || again === null) return response;
  await waitForLogin();
  // The session is still the same one: the answer is about a password in the request, and a second guess would count.
  if (csrf !== null && csrf === sentAs) return response;
  if (csrf !== null && again.headers.has("X-CSRF-Token")) again.headers.set("X-CSRF-Token", csrf);
  return fetch(again);
}

/** What an answer that is no success says. */
export async function problemOf(response: Response): Promise<ApiProblem> {
  const retry = Number(response.headers.get("Retry-After"));
  const retryAfterS = Number.isFinite(retry) && retry > 0 ? retry : null;
  try {
    const said = (await response.json()) as ProblemDetails;
    return new ApiProblem(response.status, said.code, said.detail, said.errors ?? [], said.instance, retryAfterS);
  } catch {
    const id = response.headers.get("X-Request-Id") ?? "";
    return new ApiProblem(response.status, "", response.statusText || String(response.status), [], id, retryAfterS);
  }
}

/** Whole answers, for those who read more of them than the body. */
export const answers = createClient<paths>({
  baseUrl: ROOT.replace(/\/$/, ""),
  fetch: send,
  querySerializer: { array: { style: "form", explode: true } },
});
answers.use(carriesSession);

type Method = "get" | "post" | "put" | "patch" | "delete";

/** As the library's own, but for what it gives. */
type Ask<M extends Method> = <
  Path extends ClientPathsWithMethod<typeof answers, M>,
  Init extends MaybeOptionalInit<paths[Path], M>,
>(
  path: Path,
  ...init: undefined extends MaybeOptionalInit<paths[Path], M> ? [Init?] : [Init]
) => Promise<Exclude<FetchResponse<NonNullable<paths[Path][M]>, Init, `${string}/${string}`>["data"], undefined>>;

function ask<M extends Method>(method: M): Ask<M> {
  const whole = answers.request as (...asked: unknown[]) => Promise<{ data?: unknown }>;
  return (async (...asked: unknown[]) => (await whole(method, ...asked)).data) as Ask<M>;
}

/** Requests for the bodies of answers; all that is no success is thrown as `ApiProblem`. */
export const api = {
  GET: ask("get"),
  POST: ask("post"),
  PUT: ask("put"),
  PATCH: ask("patch"),
  DELETE: ask("delete"),
};

/** The header that has a change refused if this is no longer the version that is there; undefined = there was none. */
export function match(version: number | string | undefined): { "If-Match"?: string } {
  return version === undefined ? {} : { "If-Match": `"${version}"` };
}
