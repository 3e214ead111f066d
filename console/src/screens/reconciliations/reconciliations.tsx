/** Comparisons of all records of an organization with its log. */

import type { Reconciliation } from '../../api/client';
import { useList } from '../../api/queries';
import { ActionDialog } from '../../ui/action-dialog';
import { linkTo, useDialog } from '../../ui/address';
import { DialogButton } from '../../ui/dialog-buttons';
import { isPendingJob, JobStatus } from '../../ui/job-status';
import { PageHeader } from '../../ui/page';
import { useOrganizationId } from '../../ui/place';
import { Empty } from '../../ui/states';
import { Status } from '../../ui/status';
import { type Column, List } from '../../ui/table';
import { Time } from '../../ui/time';
import { countFindings } from './findings';

/** The screen. */
export default function Reconciliations() {
  const organizationId = useOrganizationId();
  const { name, close } = useDialog();
  const query = useList(
    ['organizations', organizationId, 'reconciliations'],
    (client, page, options) => client.organizations.auditLog.reconciliations.list(organizationId, page, options),
    { isLive: (items) => items.some(isPendingJob) },
  );
  const startButton = <DialogButton dialog="start" kind="primary">Compare now</DialogButton>;
  return (
    <>
      <PageHeader
        title="Reconciliations"
        description="Comparisons of the stored records with the log. They find changes that somebody made without the service."
        actions={startButton}
      />
      <List
        query={query}
        noun="reconciliation"
        columns={createColumns(organizationId)}
        getKey={(each) => each.id}
        empty={
          <Empty title="Nothing was compared yet" action={startButton}>
            The log says which records exist and what they contain. A reconciliation checks that the database agrees.
          </Empty>
        }
      />
      {name === 'start' && <StartDialog onClose={close} />}
    </>
  );
}

function createColumns(organizationId: string): readonly Column<Reconciliation>[] {
  return [
    {
      title: 'Started',
      kind: 'primary',
      render: (each) => (
        <a href={linkTo(`/o/${organizationId}/reconciliations/${each.id}`)}>
          <Time value={each.createdAt} />
        </a>
      ),
    },
    { title: 'Status', render: (each) => <JobStatus status={each.status} /> },
    {
      title: 'Findings',
      render: (each) => {
        if (each.status !== 'completed') return '';
        const count = countFindings(each);
        return <Status tone={count === '0' ? 'good' : 'bad'}>{count === '0' ? 'None' : count}</Status>;
      },
    },
    { title: 'Records', kind: 'number', render: (each) => each.checkedRecords.toLocaleString('en') },
    { title: 'Entries', kind: 'number', render: (each) => each.checkedEntries.toLocaleString('en') },
    { title: 'Completed', kind: 'time', render: (each) => each.completedAt && <Time value={each.completedAt} /> },
  ];
}

function StartDialog({ onClose }: { onClose: () => void }) {
  const organizationId = useOrganizationId();
  return (
    <ActionDialog
      title="Compare all records with the log?"
      confirmLabel="Compare"
      call={(client, options) => client.organizations.auditLog.reconciliations.create(organizationId, options)}
      changes={[['organizations', organizationId, 'reconciliations']]}
      isDangerous={false}
      doneText="The comparison was started."
      onClose={onClose}
    >
      <p>This runs in the background and changes nothing. A small organization takes some seconds, a large one minutes.</p>
    </ActionDialog>
  );
}
