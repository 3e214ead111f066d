/** The log of the service itself: events outside of any organization. */

import type { AuditEntry, Client } from '../../api/client';
import { useList } from '../../api/queries';
import { useDialog } from '../../ui/address';
import { Changes } from '../../ui/changes';
import { Details, timeDetail } from '../../ui/details';
import { DetailDialog } from '../../ui/dialog';
import { DialogButton } from '../../ui/dialog-buttons';
import { downloadText } from '../../ui/download';
import { TextFilter } from '../../ui/filters';
import { ChoiceField, type Choice, type Values } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';
import { PageHeader } from '../../ui/page';
import { Empty } from '../../ui/states';
import { List, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { TimeFilter } from '../../ui/time-filter';
import { CSV, MEDIA_TYPES } from '../log/export-dialog';
import { ActorName, TargetName } from '../log/names';
import { useSelection, type Selection } from '../log/selection';

const FORMATS: readonly Choice[] = [
  { value: 'ndjson', label: 'NDJSON', hint: 'One JSON object in each line, as it was logged.' },
  CSV,
];

const COLUMNS: readonly Column<AuditEntry>[] = [
  { title: 'Actor', render: (each) => <ActorName entry={each} /> },
  { title: 'Target', render: (each) => <TargetName entry={each} /> },
  { title: 'At', kind: 'time', render: (each) => <Time value={each.occurredAt} /> },
];

/** The screen. */
export default function SystemLog() {
  const { name, open, close } = useDialog();
  const selection = useSelection();
  const query = useList(['system', 'audit-log', selection], (client, page, options) =>
    client.system.auditLog.list({ ...page, ...selection }, options),
  );
  const type: Column<AuditEntry> = {
    title: 'Event',
    kind: 'primary',
    render: (each) => (
      <button type="button" class="quiet flush" onClick={() => open(each.id)}>
        <code>{each.type}</code>
      </button>
    ),
  };
  const exportButton = <DialogButton dialog="export">Export</DialogButton>;
  const entry = query.items.find((each) => each.id === name);
  return (
    <>
      <PageHeader title="System log" description="Events outside of any organization, such as what operators do." actions={exportButton} />
      <LogFilters />
      <List
        query={query}
        noun="entry"
        caption="Entries of the system log"
        columns={[type, ...COLUMNS]}
        getKey={(each) => each.id}
        empty={<Empty title="No entry matches">Remove a filter to see more. What operators change becomes an entry of this log.</Empty>}
      />
      {name === 'export' && <ExportDialog selection={selection} onClose={close} />}
      {entry && <EntryDialog entry={entry} onClose={close} />}
    </>
  );
}

function LogFilters() {
  return (
    <div class="filters">
      <TextFilter parameter="type" label="Event type" placeholder="lead.*" />
      <TextFilter parameter="actorId" label="Actor" placeholder="Id of an operator" />
      <TextFilter parameter="targetId" label="Target" placeholder="Id of a record" />
      <TimeFilter parameter="from" label="From" />
      <TimeFilter parameter="to" label="Until" />
    </div>
  );
}

function EntryDialog({ entry, onClose }: { entry: AuditEntry; onClose: () => void }) {
  const { actor, target, context, integrity } = entry;
  return (
    <DetailDialog title={entry.type} onClose={onClose}>
      <Details
        items={[
          timeDetail('At', entry.occurredAt),
          ['Actor', <ActorName entry={entry} />],
          ['Id of the actor', actor?.id && <code>{actor.id}</code>],
          ['Target', <TargetName entry={entry} />],
          ['Id of the target', target && <code>{target.id}</code>],
          ['Operation', context && <code>{context.operationId}</code>],
          ['Request', context?.requestId && <code>{context.requestId}</code>],
          ['Address', context?.ipAddress],
          ['Position in its log', entry.sequence ?? 'Pending'],
          ['Leaf hash', integrity && <code>{integrity.leafHash}</code>],
        ]}
      />
      {entry.changes.length > 0 && <Changes changes={entry.changes} />}
    </DetailDialog>
  );
}

function ExportDialog({ selection, onClose }: { selection: Selection; onClose: () => void }) {
  const call = (client: Client, values: Values) =>
    client.system.auditLog.export({ ...selection, format: values.format as keyof typeof MEDIA_TYPES });
  return (
    <FormDialog
      title={Object.keys(selection).length > 0 ? 'Export the selected entries' : 'Export the system log'}
      name="export-system-log"
      initial={{ format: 'ndjson' }}
      submitLabel="Download"
      call={call}
      changes={[]}
      onDone={(text, { format }) => {
        downloadText(`system-log.${format}`, text, MEDIA_TYPES[format as keyof typeof MEDIA_TYPES]);
        onClose();
      }}
      onClose={onClose}
    >
      {() => (
        <>
          <ChoiceField name="format" label="Format" choices={FORMATS} />
          <p class="small muted">At most 10,000 entries. If there are more, export them in parts, each with its own times.</p>
        </>
      )}
    </FormDialog>
  );
}
