/** Who is logged in, in this browser. */
import { ApiProblem, api, bodyOf, type Schemas, setCsrf } from "@/api/client";
import { queries } from "@/api/queries";

export type Session = Schemas["SessionBegun"];
export type Me = Schemas["Me"];

let known: Promise<Session | null> | null = null;

/** The session of this browser; null = nobody is logged in. Raises what prevents an answer. */
export function currentSession(): Promise<Session | null> {
  known ??= read().catch((error) => {
    known = null;
    throw error;
  });
  return known;
}

async function read(): Promise<Session | null> {
  try {
    const session = await bodyOf(api.GET("/api/v1/sessions/current"));
    setCsrf(session.csrf);
    return session;
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 401) return null;
    throw error;
  }
}

/** Log in with name and password, or with the secret of a login link. */
export async function logIn(how: Schemas["LogIn"]): Promise<void> {
  const session = await bodyOf(api.POST("/api/v1/sessions", { body: how }));
  setCsrf(session.csrf);
  known = Promise.resolve(session);
  queries.clear();
}

/** End the session of this browser. */
export async function logOut(): Promise<void> {
  await api.DELETE("/api/v1/sessions/current");
  setCsrf(null);
  known = Promise.resolve(null);
  queries.clear();
}

/** Who asks and what they may do. */
export const me = {
  queryKey: ["me"],
  queryFn: () => bodyOf(api.GET("/api/v1/me")),
  staleTime: 60_000,
};
