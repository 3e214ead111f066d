/** The state of a page. */

import type { PageSummary } from '../../api/client';
import { Status, toWords, type Tone } from '../../ui/status';

const TONES: Record<string, Tone> = { published: 'good', scheduled: 'warning' };

/** Show the state of a page, and whether its draft differs from what visitors see. */
export function PageStatus({ page }: { page: Pick<PageSummary, 'status' | 'hasUnpublishedChanges'> }) {
  const isChanged = page.status === 'published' && page.hasUnpublishedChanges;
  return (
    <Status tone={isChanged ? 'warning' : (TONES[page.status] ?? 'neutral')}>
      {isChanged ? 'Published, draft changed' : toWords(page.status)}
    </Status>
  );
}
