/** The erasures of personal data in an organization. */

import type { Erasure } from '../../api/client';
import { useList } from '../../api/queries';
import { useParameter } from '../../ui/address';
import { DialogButton } from '../../ui/dialog-buttons';
import { PageHeader } from '../../ui/page';
import { useOrganizationId } from '../../ui/place';
import { Empty } from '../../ui/states';
import { Status, toWords, type Tone } from '../../ui/status';
import { List, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { ErasePersonDialog } from './erase-dialog';

const TONES: Record<Erasure['status'], Tone> = { queued: 'neutral', running: 'warning', completed: 'good', failed: 'bad' };

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
  { title: 'Status', render: (each) => <Status tone={TONES[each.status]}>{toWords(each.status)}</Status> },
  { title: 'Records', kind: 'number', render: (each) => each.erasedRecords },
  { title: 'Log entries', kind: 'number', render: (each) => each.erasedEntries },
  { title: 'Started', kind: 'time', render: (each) => <Time value={each.createdAt} /> },
];

/** The screen. */
export default function Erasures() {
  const organizationId = useOrganizationId();
  const [dialog, setDialog] = useParameter('dialog');
  const query = useList(
    ['organizations', organizationId, 'erasures'],
    (client, page, options) => client.organizations.erasures.list(organizationId, page, options),
    { isLive: (erasures) => erasures.some((each) => each.status === 'queued' || each.status === 'running') },
  );
  const eraseButton = <DialogButton dialog="erase" kind="danger">Erase a person</DialogButton>;
  return (
    <>
      <PageHeader title="Erasures" description="Requests to forget a person. An erasure names nobody, so the list has only ids." actions={eraseButton} />
      <List
        query={query}
        noun="erasure"
        caption="Erasures"
        columns={COLUMNS}
        getKey={(each) => each.id}
        empty={
          <Empty title="Nobody was erased yet" action={eraseButton}>
            An erasure removes a person from members, invitations and the entries of the log. The log can still be proven.
          </Empty>
        }
      />
      {dialog === 'erase' && <ErasePersonDialog onClose={() => setDialog(null)} />}
    </>
  );
}
