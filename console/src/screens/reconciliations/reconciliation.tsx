/** One comparison of the records of an organization with its log. */

import { useParams } from 'wouter-preact';
import type { Reconciliation as Record } from '../../api/client';
import { useRecord } from '../../api/queries';
import { isPendingJob, JobStatus } from '../../ui/job-status';
import { BackLink, PageHeader, Section } from '../../ui/page';
import { useOrganizationId } from '../../ui/place';
import { RecordView } from '../../ui/table';
import { Tile } from '../../ui/tile';
import { Time, TimeLabel } from '../../ui/time';
import { Findings } from './findings';

/** The screen. */
export default function Reconciliation() {
  const organizationId = useOrganizationId();
  const { reconciliation: id = '' } = useParams<{ reconciliation: string }>();
  const query = useRecord(
    ['organizations', organizationId, 'reconciliations', id],
    (client, options) => client.organizations.auditLog.reconciliations.get(organizationId, id, options),
    { isLive: isPendingJob },
  );
  return (
    <>
      <BackLink path={`/o/${organizationId}/reconciliations`}>Reconciliations</BackLink>
      <PageHeader title="Reconciliation" description="A comparison of the stored records with the log." />
      <RecordView query={query}>{(found) => <Result reconciliation={found} />}</RecordView>
    </>
  );
}

function Result({ reconciliation }: { reconciliation: Record }) {
  const { status, checkedRecords, checkedEntries, createdAt, completedAt, error } = reconciliation;
  return (
    <>
      <dl class="tiles">
        <Tile label="Status" note={error}>
          <JobStatus status={status} />
        </Tile>
        <Tile label="Compared" note={`with ${checkedEntries.toLocaleString('en')} entries`}>
          {checkedRecords.toLocaleString('en')} records
        </Tile>
        <Tile label={<TimeLabel>Started</TimeLabel>}>
          <Time value={createdAt} />
        </Tile>
        <Tile label={<TimeLabel>Completed</TimeLabel>}>{completedAt ? <Time value={completedAt} /> : 'Not yet'}</Tile>
      </dl>
      {status === 'completed' && (
        <Section title="Findings">
          <Findings reconciliation={reconciliation} />
        </Section>
      )}
    </>
  );
}
