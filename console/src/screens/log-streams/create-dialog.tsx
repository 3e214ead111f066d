/** The dialog that creates a log stream, and shows its secret once. */

import type { LogStreamCreate, LogStreamDetail } from '../../api/client';
import { navigate } from '../../ui/address';
import { SecretDialog } from '../../ui/dialog';
import { ALL_EVENTS, toEventPatterns } from '../../ui/events-field';
import { ChoiceField, type Values } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';
import { useOrganizationId } from '../../ui/place';
import { toDestination, toDestinationValues } from './destinations';
import { StreamFields } from './fields';

const INITIAL: Values = { ...toDestinationValues(), description: '', events: ALL_EVENTS, startAt: 'now' };
const STARTS = [
  { value: 'now', label: 'New entries', hint: 'From now on.' },
  { value: '1', label: 'The whole log', hint: 'All present entries are sent first, the oldest first.' },
];

function toBody(values: Values): LogStreamCreate {
  return {
    destination: toDestination(values),
    description: values.description || null,
    events: toEventPatterns(values),
    startAt: values.startAt === 'now' ? 'now' : Number(values.startAt),
  };
}

/** Create a log stream. */
export function CreateDialog({ onClose }: { onClose: () => void }) {
  const organizationId = useOrganizationId();
  const open = ({ id }: LogStreamDetail) => navigate(`/o/${organizationId}/log-streams/${id}`);
  return (
    <FormDialog
      title="Create a log stream"
      name="create-log-stream"
      initial={INITIAL}
      submitLabel="Create"
      call={(client, values, options) => client.organizations.logStreams.create(organizationId, toBody(values), options)}
      changes={[['organizations', organizationId, 'log-streams']]}
      renderResult={(stream) =>
        // Only streams to an HTTPS endpoint have a secret.
        stream.secret && (
          <SecretDialog title="The log stream was created" secret={stream.secret} onClose={() => open(stream)}>
            The endpoint uses this secret to verify that batches come from this service. Lost secrets can be replaced.
          </SecretDialog>
        )
      }
      doneText="The log stream was created."
      onDone={open}
      onClose={onClose}
    >
      {(values) => (
        <>
          <StreamFields values={values} />
          <ChoiceField name="startAt" label="Start with" choices={STARTS} />
        </>
      )}
    </FormDialog>
  );
}
