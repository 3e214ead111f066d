/** The checks of logs in this tab. Screens share them, so a log that was proven on one screen is proven on all. */

import type { Client } from '../api/client';
import { createStore, useStore } from '../ui/store';
import type { Progress, Verdict } from './check-log';

export type Check =
  | { kind: 'none' }
  | { kind: 'running'; progress: Progress }
  | { kind: 'failed'; error: unknown }
  | Verdict;

const NONE: Check = { kind: 'none' };
const checkStore = createStore<Readonly<Record<string, Check>>>({});

/** Return the state of the check of an organization's log. */
export function useCheck(organizationId: string): Check {
  return useStore(checkStore)[organizationId] ?? NONE;
}

/** Start to check the log of an organization. The verifier is loaded now. */
export async function startCheck(client: Client, organizationId: string): Promise<void> {
  const set = (check: Check) => checkStore.set({ ...checkStore.get(), [organizationId]: check });
  set({ kind: 'running', progress: { step: 'loading', count: 0, total: null } });
  try {
    const { checkLog } = await import('./check-log');
    set(await checkLog(client, organizationId, (progress) => set({ kind: 'running', progress })));
  } catch (error) {
    set({ kind: 'failed', error });
  }
}
