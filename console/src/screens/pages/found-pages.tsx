/** The pages that a filter finds. */

import type { PageSummary } from '../../api/client';
import { useList } from '../../api/queries';
import { linkTo } from '../../ui/address';
import { useSiteId } from '../../ui/place';
import { Empty } from '../../ui/states';
import { List, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { PageStatus } from './page-status';

const COLUMNS: readonly Column<PageSummary>[] = [
  {
    title: 'Title',
    kind: 'primary',
    render: (each) => (
      <>
        <a href={linkTo(`/s/${each.siteId}/pages/${each.id}`)}>{each.title}</a>
        <span class="sub break">{each.path}</span>
      </>
    ),
  },
  { title: 'Status', render: (each) => <PageStatus page={each} /> },
  { title: 'Changed', kind: 'time', render: (each) => <Time value={each.updatedAt} /> },
];

/** Show the pages whose titles begin with a text, and those with a status. */
export function FoundPages({ q, status }: { q: string | null; status: PageSummary['status'] | undefined }) {
  const siteId = useSiteId();
  const query = useList(['sites', siteId, 'pages', { q, status }], (client, page, options) =>
    client.sites.pages.list(siteId, { ...page, q: q ?? undefined, status }, options),
  );
  return (
    <List
      query={query}
      noun="page"
      columns={COLUMNS}
      getKey={(each) => each.id}
      empty={<Empty title="No page matches">Change or remove the filters to see the whole site.</Empty>}
    />
  );
}
