/** Keeps what people typed while they are at the issuer to sign in again. */

const STORAGE_KEY = 'atrium.drafts';

type Drafts = Record<string, Record<string, string>>;

const openForms = new Map<string, () => Record<string, string>>();

/** Register a form while it is open, so that its values are kept. Returns the function that ends this. */
export function registerForm(name: string, readValues: () => Record<string, string>): () => void {
  openForms.set(name, readValues);
  return () => openForms.delete(name);
}

/** Store the values of all open forms in this tab. */
export function saveDrafts(): void {
  const drafts: Drafts = Object.fromEntries([...openForms].map(([name, readValues]) => [name, readValues()]));
  sessionStorage.setItem(STORAGE_KEY, JSON.stringify(drafts));
}

/** Remove and return the values that a form had before the redirect, or null. */
export function takeDraftOrNull(name: string): Record<string, string> | null {
  const drafts = JSON.parse(sessionStorage.getItem(STORAGE_KEY) ?? '{}') as Drafts;
  const { [name]: found, ...others } = drafts;
  if (found) sessionStorage.setItem(STORAGE_KEY, JSON.stringify(others));
  return found ?? null;
}
