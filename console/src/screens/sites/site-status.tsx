/** The state of a site. */

import type { Site } from '../../api/client';
import { Status } from '../../ui/status';

/** Show whether visitors see a site. */
export function SiteStatus({ site }: { site: Site }) {
  return site.status === 'published' ? <Status tone="good">Published</Status> : <Status tone="neutral">Draft</Status>;
}
