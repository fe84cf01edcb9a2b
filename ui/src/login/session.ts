/** Who is logged in, in this browser. */
import { ApiProblem, api, onSessionOver, ROOT, type Schemas, setCsrf } from "@/api/client";
import { queries } from "@/api/queries";
import { shared } from "@/parts/shared";

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
    const session = await api.GET("/api/v1/sessions/current");
    setCsrf(session.csrf);
    return session;
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 401) return null;
    throw error;
  }
}

/** Log in with name and password, or with the secret of a login link. */
export async function logIn(how: Schemas["LogIn"]): Promise<void> {
  const session = await begun(how);
  known = Promise.resolve(session);
  queries.clear();
}

async function begun(how: Schemas["LogIn"]): Promise<Session> {
  const session = await api.POST("/api/v1/sessions", { body: how });
  setCsrf(session.csrf);
  otherTabs().postMessage("logged in");
  return session;
}

/** Log in again over a page whose session is over: what is typed stays, and everything is asked again. */
export async function logInAgain(how: Schemas["LogIn"]): Promise<void> {
  await goOnAs(await begun(how));
}

/** What waits while the session is over; null = it is not. */
const over = shared<{ wait: Promise<void>; end: () => void } | null>(null);
/** How often somebody has logged in again. */
let logins = 0;

onSessionOver(async () => {
  // A request of before the last login may be answered after it, and so may the question whether there is a session.
  const before = logins;
  if (over.now() === null && (await read()) !== null) return;
  if (logins !== before) return;
  if (over.now() === null) {
    const { promise, resolve } = Promise.withResolvers<void>();
    over.set({ wait: promise, end: resolve });
  }
  return over.now()?.wait;
});

/** Whether the session was found to be over, and nobody has logged in since. */
export function useIsSessionOver(): boolean {
  return over.use() !== null;
}

async function goOnAs(session: Session): Promise<void> {
  const before = await currentSession();
  // What one person began must not go on as another.
  if (before !== null && before.account !== session.account) return location.reload();
  known = Promise.resolve(session);
  logins += 1;
  over.now()?.end();
  over.set(null);
  await queries.invalidateQueries();
}

let channel: BroadcastChannel | null = null;

/** The tabs of this browser share one session: a login in one is a login in all. */
function otherTabs(): BroadcastChannel {
  channel ??= new BroadcastChannel(`shoal-session${ROOT}`);
  return channel;
}

/** Go on if somebody has logged in in another tab. */
export async function goOnAgain(): Promise<void> {
  const session = await read();
  if (session !== null) await goOnAs(session);
}

/** Go on when somebody logs in in another tab. */
export function followLogins(): void {
  otherTabs().onmessage = goOnAgain;
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
  queryFn: () => api.GET("/api/v1/me"),
  staleTime: 60_000,
};
