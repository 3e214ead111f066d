/** The queries that a change of a page affects. */

import type { QueryKey } from '../../api/queries';

/** Return the keys of the lists with a page, and of the page while it is edited. */
export function keysOfPage(page: { id: string; siteId: string }): QueryKey[] {
  return [['sites', page.siteId], ['edited', 'sites', page.siteId, 'pages', page.id]];
}
