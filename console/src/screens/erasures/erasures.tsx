/** The erasures of personal data in an organization. */

import type { Erasure } from '../../api/client';
import { useList } from '../../api/queries';
import { useDialog } from '../../ui/address';
import { DialogButton } from '../../ui/dialog-buttons';
import { isPendingJob, JobStatus } from '../../ui/job-status';
import { PageHeader } from '../../ui/page';
import { useOrganizationId } from '../../ui/place';
import { Empty } from '../../ui/states';
import { List, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { ErasePersonDialog } from './erase-dialog';

const COLUMNS: readonly Column<Erasure>[] = [
  {
    title: 'Erasure',
    kind: 'primary',
    render: (each) => (
      <>
        <code>{each.id}</code>
        {each.error && <span class="sub">{each.error}</span>}
      </>
    ),
  },
  { title: 'Status', render: (each) => <JobStatus status={each.status} /> },
  { title: 'Records', kind: 'number', render: (each) => each.erasedRecords },
  { title: 'Log entries', kind: 'number', render: (each) => each.erasedEntries },
  { title: 'Started', kind: 'time', render: (each) => <Time value={each.createdAt} /> },
];

/** The screen. */
export default function Erasures() {
  const organizationId = useOrganizationId();
  const { name, close } = useDialog();
  const query = useList(
    ['organizations', organizationId, 'erasures'],
    (client, page, options) => client.organizations.erasures.list(organizationId, page, options),
    { isLive: (erasures) => erasures.some(isPendingJob) },
  );
  const eraseButton = <DialogButton dialog="erase" kind="danger">Erase a person</DialogButton>;
  return (
    <>
      <PageHeader title="Erasures" description="Requests to forget a person. An erasure names nobody, so the list has only ids." actions={eraseButton} />
      <List
        query={query}
        noun="erasure"
        columns={COLUMNS}
        getKey={(each) => each.id}
        empty={
          <Empty title="Nobody was erased yet" action={eraseButton}>
            An erasure removes a person from members, invitations and the entries of the log. The log can still be proven.
          </Empty>
        }
      />
      {name === 'erase' && <ErasePersonDialog onClose={close} />}
    </>
  );
}
