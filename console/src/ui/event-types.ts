/** All event types, for screens, filters and fields. */

import { useQuery } from '@tanstack/preact-query';
import type { EventType } from '../api/client';
import { useEnvironment } from '../api/context';
import { readAll } from '../api/lists';

const PAGE_SIZE = 100;
const FRESH_MS = 300_000;

/** Read all event types: the built-in ones, and those of the application. */
export function useEventTypes(enabled = true) {
  const { client } = useEnvironment();
  return useQuery({
    queryKey: ['event-types'],
    queryFn: ({ signal }) => readAll(client.eventTypes.list({ limit: PAGE_SIZE }, { signal })),
    staleTime: FRESH_MS,
    enabled,
  });
}

/** Return the names of all event types. Empty while they load, and if not enabled. */
export function useEventTypeNames(enabled = true): readonly string[] {
  return useEventTypes(enabled).data?.map((each) => each.type) ?? [];
}

/** Return whether operators declared a type for the application. Built-in types have no versions. */
export function isOwnType({ versions }: EventType): boolean {
  return versions != null;
}
