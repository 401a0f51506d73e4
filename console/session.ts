// Who is signed in: an API key, kept for this tab alone. A link may bring one in its fragment, which no server ever sees; it is taken out of the address at once.
const PLACE = "toren.key";
const FRAGMENT = /^#key=([\w-]+)$/;

type Listener = () => void;
const listeners = new Set<Listener>();
let current: string | null = null;
/** Why nobody is signed in any more, for the page that asks for a key. */
let reason: string | null = null;

export function begin(): void {
  takeLinked();
  current = sessionStorage.getItem(PLACE);
  addEventListener("hashchange", () => {
    if (takeLinked()) tell();
  });
}

/** Whether the address brought a key. */
function takeLinked(): boolean {
  const linked = FRAGMENT.exec(location.hash)?.[1];
  if (linked === undefined) return false;
  current = linked;
  reason = null;
  sessionStorage.setItem(PLACE, linked);
  history.replaceState(null, "", "#/");
  return true;
}

export const key = (): string | null => current;
export const signedOutBecause = (): string | null => reason;

export function signIn(text: string): void {
  current = text.trim();
  reason = null;
  sessionStorage.setItem(PLACE, current);
  tell();
}

export function signOut(because: string | null = null): void {
  current = null;
  reason = because;
  sessionStorage.removeItem(PLACE);
  tell();
}

export function onSession(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell(): void {
  for (const listener of listeners) listener();
}
