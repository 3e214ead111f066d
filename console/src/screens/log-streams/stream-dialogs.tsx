/** The dialogs of a log stream. */

import type { LogStreamDetail, LogStreamPatch } from '../../api/client';
import { navigate, useDialog } from '../../ui/address';
import { DeleteDialog } from '../../ui/delete-dialog';
import { EditDialog } from '../../ui/edit-form';
import { STATE_FORMATS, StateField, withEventPatterns } from '../../ui/events-field';
import { toValues } from '../../ui/field-values';
import { ChoiceField, Field, type Values } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';
import type { Fields } from '../../ui/merge';
import { useOrganizationId } from '../../ui/place';
import { RotateDialog } from '../../ui/rotate-dialog';
import { TrialDialog } from '../../ui/trial-dialog';
import { describeDestination, DESTINATION_LABELS, toDestination, toDestinationValues } from './destinations';
import { StreamFields } from './fields';

interface StreamDialogProps {
  stream: LogStreamDetail;
  onClose: () => void;
}

/** The dialog that the address names. */
export default function StreamDialogs({ stream }: { stream: LogStreamDetail }) {
  const { name, close } = useDialog();
  const props = { stream, onClose: close };
  if (name === 'edit') return <EditStreamDialog {...props} />;
  if (name === 'test') return <TestStreamDialog {...props} />;
  if (name === 'rotate') return <RotateStreamDialog {...props} />;
  if (name === 'restart') return <RestartDialog {...props} />;
  return name === 'delete' ? <DeleteStreamDialog {...props} /> : null;
}

const LABELS = { enabled: 'Status', ...DESTINATION_LABELS };

/** A credential is typed, and never shown. */
const formatCredential = (value: string | null) => (value ? 'A new one' : 'The current one');
const FORMATS = { ...STATE_FORMATS, 'destination/token': formatCredential, 'destination/apiKey': formatCredential };

function toFields({ destination, description, events, enabled }: LogStreamDetail): Fields {
  return { ...toDestinationValues(destination), description, events: events.join('\n'), enabled };
}

/** Return the patch for changed fields of the form. A destination is replaced as a whole, and its type stays. */
function toPatch(changes: Fields, { destination }: LogStreamDetail): LogStreamPatch {
  const [ofDestination, ofStream] = splitByPrefix(changes);
  return {
    ...withEventPatterns(ofStream),
    ...(Object.keys(ofDestination).length > 0 && {
      destination: toDestination({ ...toDestinationValues(destination), ...toValues(ofDestination) }),
    }),
  };
}

function splitByPrefix(fields: Fields): [Fields, Fields] {
  const isOfDestination = ([name]: [string, unknown]) => name.startsWith('destination/');
  const entries = Object.entries(fields);
  return [Object.fromEntries(entries.filter(isOfDestination)), Object.fromEntries(entries.filter((each) => !isOfDestination(each)))];
}

function EditStreamDialog({ stream, onClose }: StreamDialogProps) {
  const organizationId = useOrganizationId();
  return (
    <EditDialog<LogStreamDetail>
      title="Edit the log stream"
      subject={describeDestination(stream.destination)}
      recordKey={['log-streams', organizationId, stream.id]}
      read={(client, options) => client.organizations.logStreams.get(organizationId, stream.id, options)}
      toFields={toFields}
      save={(client, changes, options, record) =>
        client.organizations.logStreams.update(organizationId, stream.id, toPatch(changes, record), options)
      }
      labels={LABELS}
      formats={FORMATS}
      changes={[['organizations', organizationId, 'log-streams']]}
      savedText="The log stream was changed."
      onClose={onClose}
    >
      {(values) => (
        <>
          <StreamFields values={values} isEdit />
          <StateField hint="Entries wait in the log, and are sent once the stream is on again." />
        </>
      )}
    </EditDialog>
  );
}

function TestStreamDialog({ stream, onClose }: StreamDialogProps) {
  const organizationId = useOrganizationId();
  return (
    <TrialDialog
      call={(client, options) => client.organizations.logStreams.test(organizationId, stream.id, options)}
      changes={[['organizations', organizationId, 'log-streams', stream.id]]}
      onClose={onClose}
    >
      The destination gets one entry of the type <code>log_stream.test</code>, without a sequence. If the stream was
      failing and the test succeeds, its batch is repeated at once.
    </TrialDialog>
  );
}

function RotateStreamDialog({ stream, onClose }: StreamDialogProps) {
  const organizationId = useOrganizationId();
  return (
    <RotateDialog
      subject="this log stream"
      call={(client, body, options) => client.organizations.logStreams.rotateSecret(organizationId, stream.id, body, options)}
      changes={[['organizations', organizationId, 'log-streams']]}
      onClose={onClose}
    />
  );
}

const STARTS = [
  { value: 'now', label: 'New entries', hint: 'Entries that wait are not sent.' },
  { value: 'sequence', label: 'An earlier entry', hint: 'It and all later ones are sent again.' },
];

function toRestart({ start, startAt }: Values): LogStreamPatch {
  return { startAt: start === 'now' ? 'now' : Number(startAt) };
}

function RestartDialog({ stream, onClose }: StreamDialogProps) {
  const organizationId = useOrganizationId();
  return (
    <FormDialog
      title="Restart the log stream"
      name="restart"
      initial={{ start: 'sequence', startAt: '1' }}
      submitLabel="Restart"
      call={(client, values) => client.organizations.logStreams.update(organizationId, stream.id, toRestart(values))}
      changes={[['organizations', organizationId, 'log-streams']]}
      doneText="The log stream was restarted."
      onClose={onClose}
    >
      {(values) => (
        <>
          <ChoiceField name="start" label="Continue with" choices={STARTS} />
          {values.start === 'sequence' && <Field name="startAt" label="Sequence of the entry" type="number" required hint="1 sends the whole log." />}
        </>
      )}
    </FormDialog>
  );
}

function DeleteStreamDialog({ stream, onClose }: StreamDialogProps) {
  const organizationId = useOrganizationId();
  return (
    <DeleteDialog
      title="Delete the log stream?"
      name={describeDestination(stream.destination)}
      call={(client) => client.organizations.logStreams.delete(organizationId, stream.id)}
      changes={[['organizations', organizationId, 'log-streams']]}
      onDone={() => navigate(`/o/${organizationId}/log-streams`)}
      onClose={onClose}
    >
      <p>The log itself stays. A new stream can send it again from the start.</p>
    </DeleteDialog>
  );
}
