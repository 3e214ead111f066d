/** The migrations of the table, in the order in which they are applied. */

import type { Migration } from '../../api/client';
import { useList } from '../../api/queries';
import { PageHeader } from '../../ui/page';
import { Empty } from '../../ui/states';
import { Status, toWords, type Tone } from '../../ui/status';
import { List, type Column } from '../../ui/table';
import { Time } from '../../ui/time';

const TONES: Record<Migration['state'], Tone> = { pending: 'warning', applied: 'good', failed: 'bad' };

const COLUMNS: readonly Column<Migration>[] = [
  {
    title: 'Migration',
    kind: 'primary',
    render: (each) => (
      <>
        <code>{each.id}</code>
        <span class="sub">{each.description}</span>
        {each.error && <span class="sub">{each.error}</span>}
      </>
    ),
  },
  { title: 'Status', render: (each) => <Status tone={TONES[each.state]}>{toWords(each.state)}</Status> },
  { title: 'Took', kind: 'number', render: (each) => (each.durationMs === null ? '' : `${each.durationMs} ms`) },
  { title: 'Checksum', render: (each) => <code title={each.checksum}>{each.checksum.slice(0, 12)}</code> },
  { title: 'Applied', kind: 'time', render: (each) => <Time value={each.appliedAt} /> },
];

/** The screen. */
export default function Migrations() {
  const query = useList(
    ['system', 'migrations', 'list'],
    (client, page, options) => client.system.migrations.list(page, options),
    { isLive: (items) => items.some((each) => each.state === 'pending') },
  );
  return (
    <>
      <PageHeader
        title="Migrations"
        description="Changes of the table's contents that a release needs. A deployment applies pending ones, and tries failed ones again."
      />
      <List
        query={query}
        noun="migration"
        columns={COLUMNS}
        getKey={(each) => each.id}
        empty={<Empty title="No migrations">This release needs no change of the table's contents.</Empty>}
      />
    </>
  );
}
