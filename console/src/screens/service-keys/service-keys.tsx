/** The service keys: credentials of your own back end, which reports events of all organizations. */

import type { ServiceKey } from '../../api/client';
import { useList } from '../../api/queries';
import { useDialog } from '../../ui/address';
import { actionsColumn, DialogButton } from '../../ui/dialog-buttons';
import { PageHeader } from '../../ui/page';
import { Empty } from '../../ui/states';
import { Status, toWords, type Tone } from '../../ui/status';
import { List, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { CreateDialog, KeyDialog, RevokeDialog, RotateDialog } from './dialogs';

const TONES: Record<ServiceKey['status'], Tone> = { active: 'good', revoked: 'bad', expired: 'neutral' };

const COLUMNS: readonly Column<ServiceKey>[] = [
  {
    title: 'Name',
    kind: 'primary',
    render: (each) => (
      <>
        {each.name}
        <span class="sub">
          <code>{each.hint}</code>, {each.types ? each.types.join(', ') : 'all event types'}
        </span>
      </>
    ),
  },
  { title: 'Status', render: (each) => <Status tone={TONES[each.status]}>{toWords(each.status)}</Status> },
  { title: 'Scope', render: (each) => each.scopes.join(', ') },
  { title: 'Last used', kind: 'time', render: (each) => <Time value={each.lastUsedAt} /> },
  { title: 'Expires', kind: 'time', render: (each) => <Time value={each.expiresAt} /> },
  actionsColumn(({ id, name, status }) => ({
    id,
    name,
    actions: [
      { dialog: 'key', text: 'Details' },
      { dialog: 'rotate', text: 'Rotate', isShown: status === 'active' },
      { dialog: 'revoke', text: 'Revoke', kind: 'danger', isShown: status === 'active' },
    ],
  })),
];

/** The screen. */
export default function ServiceKeys() {
  const query = useList(['system', 'service-keys'], (client, page, options) => client.system.serviceKeys.list(page, options));
  const createButton = <DialogButton dialog="create" kind="primary">Create service key</DialogButton>;
  return (
    <>
      <PageHeader
        title="Service keys"
        description="Credentials of your own back end. They write and read application events in all organizations, and do nothing else."
        actions={createButton}
      />
      <List
        query={query}
        noun="service key"
        columns={COLUMNS}
        getKey={(each) => each.id}
        empty={
          <Empty title="No service keys yet" action={createButton}>
            With a service key, your application reports what happens in it. The events become entries in the log of the
            organization that they concern.
          </Empty>
        }
      />
      <Dialogs keys={query.items} />
    </>
  );
}

/** The dialog that the address names. */
function Dialogs({ keys }: { keys: readonly ServiceKey[] }) {
  const { name, id, close } = useDialog();
  if (name === 'create') return <CreateDialog onClose={close} />;
  if (name === 'key') return <KeyDialog id={id} onClose={close} />;
  const key = keys.find((each) => each.id === id);
  if (!key) return null;
  if (name === 'rotate') return <RotateDialog serviceKey={key} onClose={close} />;
  return name === 'revoke' ? <RevokeDialog serviceKey={key} onClose={close} /> : null;
}
