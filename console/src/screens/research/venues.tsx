/** The venues: conferences whose works operators fetch for everybody. */

import type { Venue } from '../../api/client';
import { useList } from '../../api/queries';
import { linkTo } from '../../ui/address';
import { Empty } from '../../ui/states';
import { List, type Column } from '../../ui/table';
import { ResearchHeader } from './research-header';
import { countOutputs, describeYears } from './venue';

const COLUMNS: readonly Column<Venue>[] = [
  {
    title: 'Venue',
    kind: 'primary',
    render: (each) => <a href={linkTo('/research', { venueId: each.id })}>{each.name}</a>,
  },
  { title: 'Id', render: (each) => <code>{each.id}</code> },
  { title: 'Editions', render: describeYears },
  { title: 'Works', kind: 'number', render: (each) => countOutputs(each).toLocaleString('en') },
];

/** The screen. */
export default function Venues() {
  const query = useList(['research', 'venues'], (client, page, options) => client.research.venues.list(page, options));
  return (
    <>
      <ResearchHeader />
      <List
        query={query}
        noun="venue"
        columns={COLUMNS}
        getKey={(each) => each.id}
        empty={<Empty title="No venues">The release lists the conferences whose works can be fetched.</Empty>}
      />
    </>
  );
}
