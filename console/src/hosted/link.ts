/** What the pages of signed links share: the link, reads that repeat, and changes. */

import { createContext } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { CreateOptions, SignedLink } from '../api/client';
import { nextPollMs } from '../api/polling';
import { hasStatus } from '../api/problems';
import { MAX_POST_RETRIES } from '../api/transport';
import type { HostedClient } from './client';

export interface OpenLink {
  client: HostedClient;
  link: SignedLink;
  /** Show that the link has ended, because the service does not accept it any more. */
  end: () => void;
}

export const LinkContext = createContext<OpenLink | null>(null);

/** Return the link of this page. */
export function useLink(): OpenLink {
  const link = useContext(LinkContext);
  if (!link) throw new Error('There is no link around this component.');
  return link;
}

interface Reading<T> {
  /** The key of the data. */
  key: string;
  data: T | null;
  error: unknown;
}

/**
 * Read something, again when `key` changes, and again from time to time while it is live and the tab is visible.
 *
 * `isStale`: whether the data are those of the former key, until those of this one are read.
 */
export function useReading<T>(key: string, read: () => PromiseLike<T>, isLive: (data: T) => boolean = () => false) {
  const { end } = useLink();
  const [state, setState] = useState<Reading<T>>({ key, data: null, error: null });
  const last = useRef({ key, text: '', intervalMs: null as number | null });
  const load = async () => {
    try {
      const data = await read();
      if (last.current.key === key) setState({ key, data, error: null });
    } catch (error) {
      if (hasStatus(error, 401)) end();
      if (last.current.key === key) setState((old) => ({ ...old, error }));
    }
  };
  useEffect(() => {
    last.current = { key, text: '', intervalMs: null };
    setState((old) => ({ ...old, error: null }));
    void load();
  }, [key]);
  useEffect(() => {
    if (state.data === null || !isLive(state.data)) return;
    const text = JSON.stringify(state.data);
    const intervalMs = nextPollMs(last.current.intervalMs, last.current.text !== text);
    last.current = { key, text, intervalMs };
    const repeat = () => void load();
    const timer = setTimeout(() => (document.hidden ? addEventListener('visibilitychange', repeat, { once: true }) : repeat()), intervalMs);
    return () => {
      clearTimeout(timer);
      removeEventListener('visibilitychange', repeat);
    };
  }, [state]);
  return { ...state, isStale: state.key !== key, reload: load };
}

/** Change something. An attempt that is repeated after a failure has the same idempotency key. */
export function useChange<V, T>(call: (values: V, options: CreateOptions) => PromiseLike<T>, onSuccess?: (result: T) => unknown) {
  const { end } = useLink();
  const attempt = useRef<{ values: string; key: string } | null>(null);
  const [state, setState] = useState({ isPending: false, error: null as unknown });
  const run = async (values: V) => {
    const text = JSON.stringify(values ?? null);
    if (attempt.current?.values !== text) attempt.current = { values: text, key: crypto.randomUUID() };
    setState({ isPending: true, error: null });
    try {
      const result = await call(values, { idempotencyKey: attempt.current.key, maxRetries: MAX_POST_RETRIES });
      attempt.current = null;
      setState({ isPending: false, error: null });
      await onSuccess?.(result);
    } catch (error) {
      if (hasStatus(error, 401)) end();
      setState({ isPending: false, error });
    }
  };
  return { ...state, run: (values: V) => void run(values) };
}
