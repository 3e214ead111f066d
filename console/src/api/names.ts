/** Names of the people and API keys whose ids are in a list, if the call has `include: 'names'`. */

import type { PrincipalName } from './client';

interface PageWithNames {
  names?: Record<string, PrincipalName>;
}

/** Return the name of an id in a list. Former members have none, and erased ones have no id. */
export function nameIn(query: { data: { pages: readonly object[] } | undefined }, id: string | null): string {
  if (id === null) return 'an erased person';
  const found = query.data?.pages.map((page: PageWithNames) => page.names?.[id]).find(Boolean);
  return found?.name ?? found?.username ?? 'a former member';
}
