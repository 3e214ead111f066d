/** The dialog that writes an event of the application to the log. */

import type { EventIn, EventType } from '../../api/client';
import { Dialog } from '../../ui/dialog';
import { isOwnType, useEventTypes } from '../../ui/event-types';
import { parseObjectOrNull } from '../../ui/field-values';
import { Field, type Values } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';
import { JsonField } from '../../ui/json-field';
import { useOrganizationId } from '../../ui/place';
import { SelectField } from '../../ui/select-field';
import { Failed, Loading } from '../../ui/states';

interface SendEventDialogProps {
  /** The type of the event. Without it, the user chooses one. */
  eventType?: EventType;
  onClose: () => void;
}

/** Send an event of a given type, or of one that the user chooses. */
export function SendEventDialog({ eventType, onClose }: SendEventDialogProps) {
  const query = useEventTypes(eventType === undefined);
  const types = eventType ? [eventType] : (query.data ?? []).filter(isOwnType);
  const [first] = types;
  if (first) return <SendForm types={types} first={first} onClose={onClose} />;
  return (
    <Dialog title="Send an event" onClose={onClose}>
      {query.isPending && <Loading lines={3} />}
      {query.error && <Failed error={query.error} onRetry={() => query.refetch()} />}
      {query.data && <p>There are no types yet. An operator of the service declares them.</p>}
    </Dialog>
  );
}

function initialValues(eventType: EventType): Values {
  const data = JSON.stringify(eventType.example ?? {}, null, 2);
  return { type: eventType.type, data, targetType: '', targetId: '', targetName: '' };
}

/** Return the event of the form. */
export function toEvent({ type = '', data, targetType, targetId, targetName }: Values): EventIn {
  const target = { type: targetType ?? '', id: targetId ?? '', name: targetName || null };
  return { type, data: parseObjectOrNull(data), ...(target.type || target.id || target.name ? { targets: [target] } : {}) };
}

interface SendFormProps {
  types: readonly EventType[];
  first: EventType;
  onClose: () => void;
}

function SendForm({ types, first, onClose }: SendFormProps) {
  const organizationId = useOrganizationId();
  return (
    <FormDialog
      title="Send an event"
      name="send-event"
      initial={initialValues(first)}
      submitLabel="Send"
      isDisabled={({ data }) => parseObjectOrNull(data) === null}
      call={(client, values, options) => client.organizations.events.create(organizationId, toEvent(values), options)}
      changes={[['organizations', organizationId, 'events']]}
      doneText="The event was written to the log."
      onClose={onClose}
    >
      {(values) => (
        <>
          <p class="muted">The event becomes part of the log, and cannot be removed. Webhooks, channels and log streams receive it.</p>
          {types.length > 1 && <SelectField name="type" label="Type" choices={types.map(({ type }) => ({ value: type, label: type }))} />}
          <JsonField name="data" label="Data" hint={`JSON, as the schema of ${values.type} describes it.`} />
          <Field name="targetType" label="Type of the target" autoComplete="off" hint="What the event is about, such as invoice." />
          <Field name="targetId" label="Id of the target" autoComplete="off" />
          <Field name="targetName" label="Name of the target" autoComplete="off" />
        </>
      )}
    </FormDialog>
  );
}
