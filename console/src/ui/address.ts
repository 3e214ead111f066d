/** The address: the screen and its filters live behind `#`, so that they can be bookmarked and sent to others. */

import { useCallback } from 'preact/hooks';
import { useStore, type Store } from './store';

/** Return the path and the parameters of a fragment such as `#/o/1/members?role=admin`. */
export function parseFragment(fragment: string): { path: string; parameters: URLSearchParams } {
  const [path = '', query = ''] = fragment.replace(/^#?\/?/, '').split('?');
  return { path: `/${path}`, parameters: new URLSearchParams(query) };
}

/** Return the link to a path with parameters. Empty parameters are omitted. */
export function linkTo(path: string, parameters: Record<string, string | null> = {}): string {
  const entries = Object.entries(parameters).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const query = new URLSearchParams(entries).toString();
  return `#${path}${query && `?${query}`}`;
}

/** The location hook of the router. It ignores parameters. */
export function useFragmentPath(): [string, (path: string) => void] {
  return [parseFragment(useFragment()).path, navigate];
}

/** Go to a path of the console. */
export function navigate(path: string): void {
  location.hash = path;
}

/** Read and change a parameter of the address, such as a filter or the open dialog. */
export function useParameter(name: string): [string | null, (value: string | null) => void] {
  const value = parseFragment(useFragment()).parameters.get(name);
  const setValue = useCallback(
    (next: string | null) => {
      const { path, parameters } = parseFragment(location.hash);
      navigate(linkTo(path, { ...Object.fromEntries(parameters), [name]: next }));
    },
    [name],
  );
  return [value, setValue];
}

/** Read, open and close the dialog that the address names, such as `edit:` and the id of what it edits. */
export function useDialog(): { name: string; id: string; open: (dialog: string) => void; close: () => void } {
  const [dialog, open] = useParameter('dialog');
  const [name = '', id = ''] = (dialog ?? '').split(':');
  return { name, id, open, close: () => open(null) };
}

/** Read and change a parameter of the address that has a few values. Others count as none. */
export function useChoice<T extends string>(name: string, choices: readonly T[]): [T | undefined, (value: T | null) => void] {
  const [value, setValue] = useParameter(name);
  return [choices.find((each) => each === value), setValue];
}

function useFragment(): string {
  return useStore(fragment);
}

function subscribe(onChange: () => void): () => void {
  addEventListener('hashchange', onChange);
  return () => removeEventListener('hashchange', onChange);
}

const fragment: Pick<Store<string>, 'get' | 'subscribe'> = { get: () => location.hash, subscribe };
