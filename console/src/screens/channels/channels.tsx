/** The chat channels of an organization. */

import { operations } from '../../api/access';
import type { Channel } from '../../api/client';
import { useList } from '../../api/queries';
import { useDialog } from '../../ui/address';
import { actionsColumn, DialogButton } from '../../ui/dialog-buttons';
import { EventPatterns } from '../../ui/event-patterns';
import { PageHeader } from '../../ui/page';
import { useCan, useOrganizationId } from '../../ui/place';
import { Empty } from '../../ui/states';
import { Status } from '../../ui/status';
import { List, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { CreateDialog, DeleteChannelDialog, EditChannelDialog, TestChannelDialog } from './dialogs';
import { providerName } from './providers';

/** The screen. */
export default function Channels() {
  const organizationId = useOrganizationId();
  const canCreate = useCan(operations.create_integration_channel);
  const query = useList(['organizations', organizationId, 'channels'], (client, page, options) =>
    client.organizations.integrationChannels.list(organizationId, page, options),
  );
  const createButton = canCreate && <DialogButton dialog="create" kind="primary">Create channel</DialogButton>;
  return (
    <>
      <PageHeader title="Channels" description="Chat rooms that receive events as sentences." actions={createButton} />
      <List
        query={query}
        noun="channel"
        columns={useColumns()}
        getKey={(each) => each.id}
        empty={
          <Empty title="No channels yet" action={createButton}>
            A channel posts events to a room of Slack, Discord or Microsoft Teams, such as “Ines Calloway published a
            page”. Create a URL for incoming messages there, and enter it here.
          </Empty>
        }
      />
      <Dialogs channels={query.items} />
    </>
  );
}

function useColumns(): readonly Column<Channel>[] {
  const actions = [
    { dialog: 'test', text: 'Test', isShown: useCan(operations.test_integration_channel) },
    { dialog: 'edit', text: 'Edit', isShown: useCan(operations.update_integration_channel) },
    { dialog: 'delete', text: 'Delete', isShown: useCan(operations.delete_integration_channel), kind: 'danger' as const },
  ];
  return [
    {
      title: 'Name',
      kind: 'primary',
      render: (each) => (
        <>
          {each.name}
          <span class="sub">{providerName(each.provider)}</span>
        </>
      ),
    },
    { title: 'Status', render: (each) => <ChannelState channel={each} /> },
    { title: 'Events', render: (each) => <EventPatterns patterns={each.events} isShort /> },
    { title: 'Created', kind: 'time', render: (each) => <Time value={each.createdAt} /> },
    actionsColumn(({ id, name }) => ({ id, name, actions })),
  ];
}

function ChannelState({ channel }: { channel: Channel }) {
  if (!channel.enabled) return <Status tone="neutral">Paused</Status>;
  if (channel.status === 'active') return <Status tone="good">Active</Status>;
  return (
    <>
      <Status tone="bad">Needs attention</Status>
      {channel.lastError && <span class="sub break">{channel.lastError}</span>}
    </>
  );
}

/** The dialog that the address names. */
function Dialogs({ channels }: { channels: readonly Channel[] }) {
  const { name, id, close: onClose } = useDialog();
  if (name === 'create') return <CreateDialog onClose={onClose} />;
  const channel = channels.find((each) => each.id === id);
  if (!channel) return null;
  if (name === 'test') return <TestChannelDialog channel={channel} onClose={onClose} />;
  if (name === 'edit') return <EditChannelDialog channel={channel} onClose={onClose} />;
  return name === 'delete' ? <DeleteChannelDialog channel={channel} onClose={onClose} /> : null;
}
