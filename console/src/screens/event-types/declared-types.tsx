/** The event types of the application, which operators declare for the whole service. */

import type { EventType } from '../../api/client';
import { useDialog } from '../../ui/address';
import { actionsColumn, DialogButton } from '../../ui/dialog-buttons';
import { useEventTypes } from '../../ui/event-types';
import { PageHeader } from '../../ui/page';
import { TextFilter } from '../../ui/filters';
import { Empty } from '../../ui/states';
import type { Column } from '../../ui/table';
import { DeclareDialog, EditTypeDialog } from './declare-dialogs';
import { EventTypeList } from './event-type-list';

const COLUMNS: readonly Column<EventType>[] = [
  { title: 'Version', kind: 'number', render: (each) => each.version },
  actionsColumn(({ type }) => ({ id: type, name: type, actions: [{ dialog: 'edit', text: 'Edit' }] })),
];

/** The screen. */
export default function DeclaredTypes() {
  const declareButton = <DialogButton dialog="declare" kind="primary">Declare</DialogButton>;
  return (
    <>
      <PageHeader
        title="Event types"
        description="Events that the application may write to the logs of all organizations. Types cannot be removed."
        actions={declareButton}
      />
      <div class="filters">
        <TextFilter parameter="q" label="Search" placeholder="Name or description" />
      </div>
      <EventTypeList
        isOwn
        renderName={(each) => <code>{each.type}</code>}
        columns={COLUMNS}
        empty={
          <Empty title="No event types" action={declareButton}>
            A type has a name such as <code>invoice.approved</code>, a sentence for chat messages, and a JSON Schema of its data.
          </Empty>
        }
      />
      <Dialogs />
    </>
  );
}

function Dialogs() {
  const types = useEventTypes().data ?? [];
  const { name, id: type, close: onClose } = useDialog();
  if (name === 'declare') return <DeclareDialog onClose={onClose} />;
  const eventType = types.find((each) => each.type === type);
  return name === 'edit' && eventType ? <EditTypeDialog type={eventType.type} onClose={onClose} /> : null;
}
