/** The token in the link to a hosted page. */

/**
 * Remove the token from the address, and return it, or null if there is none.
 *
 * It stays in this tab while the user signs in, and is gone when the tab closes.
 */
export function takeToken(page: string): string | null {
  const key = `atrium.token.${page}`;
  const url = new URL(location.href);
  const fragment = new URLSearchParams(url.hash.slice(1));
  const token = url.searchParams.get('token') ?? fragment.get('token');
  if (token === null) return sessionStorage.getItem(key);
  history.replaceState(null, '', url.pathname);
  sessionStorage.setItem(key, token);
  return token;
}

/** Forget the token, after it was used. */
export function forgetToken(page: string): void {
  sessionStorage.removeItem(`atrium.token.${page}`);
}

/** Open another link that is pasted into this tab. Only its fragment differs, so the browser would not load the page. */
export function followNewLinks(): void {
  addEventListener('hashchange', () => new URLSearchParams(location.hash.slice(1)).has('token') && location.reload());
}
