/** The access token in this tab. */

export const SESSION_KEY = 'atrium.session';

export interface StoredSession {
  accessToken: string;
  idToken: string | null;
  signedInAt: number;
  expiresAt: number | null;
}

/** Return the access token, or null if nobody is signed in or the token has expired. */
export function readToken(): string | null {
  const session = readStored<StoredSession>(SESSION_KEY);
  const isValid = session && (session.expiresAt === null || session.expiresAt > Date.now());
  return isValid ? session.accessToken : null;
}

/** Return a value that was stored in this tab, or null. */
export function readStored<T>(key: string): T | null {
  return JSON.parse(sessionStorage.getItem(key) ?? 'null') as T | null;
}

/** Store a value in this tab. */
export function writeStored<T>(key: string, value: T): void {
  sessionStorage.setItem(key, JSON.stringify(value));
}
