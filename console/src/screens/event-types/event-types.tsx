/** The types of events in the log of an organization: built-in ones, and those of the application. */

import { operations } from '../../api/access';
import { linkTo, useChoice, useDialog, useParameter } from '../../ui/address';
import { DialogButton } from '../../ui/dialog-buttons';
import { PageHeader } from '../../ui/page';
import { useCan, useOrganizationId } from '../../ui/place';
import { RoleNotice } from '../../ui/role-notice';
import { TextFilter } from '../../ui/filters';
import { Empty } from '../../ui/states';
import { Tabs } from '../../ui/tabs';
import { EventTypeList } from './event-type-list';
import { SendEventDialog } from './send-dialog';

/** The screen. */
export default function EventTypes() {
  const path = `/o/${useOrganizationId()}/event-types`;
  const [view = 'own'] = useChoice('view', ['own', 'built-in']);
  const { name, close } = useDialog();
  const canSend = useCan(operations.create_event);
  const tabs = [
    { href: linkTo(path), title: 'Of the application', isCurrent: view === 'own' },
    { href: linkTo(path, { view: 'built-in' }), title: 'Built-in', isCurrent: view === 'built-in' },
  ];
  return (
    <>
      <PageHeader
        title="Event types"
        description="What can occur in the log, and what webhooks, channels and log streams can receive."
        actions={
          canSend && <DialogButton dialog="send">Send an event</DialogButton>
        }
      />
      <RoleNotice rule={operations.create_event}>You can read the types, but not send events.</RoleNotice>
      <Tabs label="Kinds of event types" tabs={tabs} />
      <div class="filters">
        <TextFilter parameter="q" label="Search" placeholder="Name or description" />
      </div>
      <EventTypeList
        isOwn={view === 'own'}
        renderName={(each) => (
          <a href={linkTo(`${path}/${each.type}`)}>
            <code>{each.type}</code>
          </a>
        )}
        empty={<NoTypes />}
      />
      {name === 'send' && <SendEventDialog onClose={close} />}
    </>
  );
}

function NoTypes() {
  const [text] = useParameter('q');
  if (text) return <Empty title="No event type matches">Change the search, or look at the other kind of types.</Empty>;
  return (
    <Empty title="No types of the application yet">
      Your programs can write events of their own to the log, such as <code>invoice.approved</code>. An operator of the service
      declares their types first.
    </Empty>
  );
}
