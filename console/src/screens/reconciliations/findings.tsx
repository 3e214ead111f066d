/** What a reconciliation has found: records that do not agree with the log. */

import type { Reconciliation } from '../../api/client';
import { Status, toWords } from '../../ui/status';
import { type Column, Table } from '../../ui/table';

type Finding = Reconciliation['findings'][number];

const MEANINGS: Record<Finding['kind'], string> = {
  unlogged: 'No entry explains this record.',
  differing: 'The record is not as the service stored it last.',
  missing: 'The record is gone, although the last entry says that it exists.',
  newer: 'A newer release seems to have stored it. Compare again after the deployment.',
};

const COLUMNS: readonly Column<Finding>[] = [
  {
    title: 'Record',
    kind: 'primary',
    render: (each) => (
      <>
        {toWords(each.type.replaceAll('.', ' '))}
        <span class="sub code break">{each.id}</span>
      </>
    ),
  },
  {
    title: 'Finding',
    render: (each) => (
      <>
        <Status tone={each.kind === 'newer' ? 'warning' : 'bad'}>{toWords(each.kind)}</Status>
        <span class="sub">{MEANINGS[each.kind]}</span>
      </>
    ),
  },
  { title: 'Fields', render: (each) => each.fields.join(', ') },
];

/** Return how many findings there are. */
export function countFindings({ findingCounts, hasMore }: Reconciliation): string {
  const { unlogged, differing, missing, newer } = findingCounts;
  const count = unlogged + differing + missing + newer;
  return `${count}${hasMore ? ' or more' : ''}`;
}

/** Show the findings of a reconciliation that has ended. */
export function Findings({ reconciliation }: { reconciliation: Reconciliation }) {
  const { findings, hasMore } = reconciliation;
  if (findings.length === 0) return <p class="notice good">All records agree with the log.</p>;
  return (
    <>
      <p class="notice bad">Somebody with access to the database may have changed these records without the service.</p>
      <Table caption="Findings" columns={COLUMNS} items={findings} getKey={(each) => `${each.kind} ${each.type} ${each.id}`} />
      {hasMore && <p class="muted small">There are more findings than these.</p>}
    </>
  );
}
