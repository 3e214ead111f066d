/** The dialog that creates a log stream, and shows its secret once. */

import type { LogStreamCreate, LogStreamDetail } from '../../api/client';
import { useAction } from '../../api/queries';
import { linkTo } from '../../ui/address';
import { Dialog, DialogFooter, SecretDialog } from '../../ui/dialog';
import { ALL_EVENTS, toEventPatterns } from '../../ui/events-field';
import { ChoiceField, Form, type Values } from '../../ui/form';
import { useOrganizationId } from '../../ui/place';
import { showToast } from '../../ui/toast';
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
  const open = ({ id }: LogStreamDetail) => (location.hash = linkTo(`/o/${organizationId}/log-streams/${id}`));
  const action = useAction({
    call: (client, values: Values, options) => client.organizations.logStreams.create(organizationId, toBody(values), options),
    changes: [['organizations', organizationId, 'log-streams']],
    onSuccess: (stream) => {
      // Only streams to an HTTPS endpoint have a secret.
      if (stream.secret) return;
      showToast('The log stream was created.');
      open(stream);
    },
  });
  const { data } = action;
  if (data?.secret) {
    return (
      <SecretDialog title="The log stream was created" secret={data.secret} onClose={() => open(data)}>
        The endpoint uses this secret to verify that batches come from this service. Lost secrets can be replaced.
      </SecretDialog>
    );
  }
  return (
    <Dialog title="Create a log stream" onClose={onClose}>
      <Form name="create-log-stream" initial={INITIAL} error={action.error} onSubmit={action.mutate}>
        {(values) => (
          <>
            <StreamFields values={values} />
            <ChoiceField name="startAt" label="Start with" choices={STARTS} />
            <DialogFooter
              submitLabel="Create"
              onCancel={onClose}
              isPending={action.isPending}
              call={(client) => client.organizations.logStreams.create(organizationId, toBody(values))}
            />
          </>
        )}
      </Form>
    </Dialog>
  );
}
