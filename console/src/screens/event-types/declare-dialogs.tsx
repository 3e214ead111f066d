/** The dialogs in which operators declare an event type, and change one. */

import type { EventType, EventTypePut } from '../../api/client';
import { EditDialog } from '../../ui/edit-form';
import { parseObjectOrNull } from '../../ui/field-values';
import { ChoiceField, Field, type Values } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';
import { JsonField } from '../../ui/json-field';

const SCHEMA = { type: 'object', properties: {}, additionalProperties: false };
const INITIAL: Values = { type: '', description: '', sentence: '', schema: JSON.stringify(SCHEMA, null, 2) };
const LABELS = { deprecated: 'Status' };
const STATES = [
  { value: 'false', label: 'In use' },
  { value: 'true', label: 'Deprecated', hint: 'Programs should stop writing such events. They are still accepted.' },
];

function toBody({ description = '', sentence = '', schema }: Values): EventTypePut {
  return { description, sentence, schema: parseObjectOrNull(schema) ?? {} };
}

function TypeFields() {
  return (
    <>
      <Field name="description" label="Description" required hint="When the event occurs." />
      <Field name="sentence" label="Sentence" required hint="For chat messages: {actor} approved {target} over {data.amount} euros." />
      <JsonField name="schema" label="Schema of the data" hint="JSON Schema 2020-12. A change makes a new version." />
    </>
  );
}

interface DialogProps {
  onClose: () => void;
}

/** Declare a type. */
export function DeclareDialog({ onClose }: DialogProps) {
  return (
    <FormDialog
      title="Declare an event type"
      isWide
      name="declare-event-type"
      initial={INITIAL}
      submitLabel="Declare"
      isDisabled={(values) => !values.type || parseObjectOrNull(values.schema) === null}
      call={(client, { type = '', ...values }, options) =>
        client.eventTypes.put(type, toBody(values), { ...options, maxRetries: 0, ifNoneMatch: '*' })
      }
      changes={[['event-types']]}
      doneText={({ type }) => `${type} was declared.`}
      onClose={onClose}
    >
      {() => (
        <>
          <Field name="type" label="Name" required autoComplete="off" hint="Parts of lower-case letters and _, joined by dots, such as invoice.approved." />
          <TypeFields />
        </>
      )}
    </FormDialog>
  );
}

const FORMATS = { deprecated: (value: boolean) => (value ? 'Deprecated' : 'In use') };

/** Return the declaration of a type, without what the service adds. */
function toDeclaration({ description, sentence, schema, deprecated }: EventType) {
  return { description, sentence, schema, deprecated: deprecated ?? false };
}

/** Change a type. The whole declaration is replaced, on the condition that it is as it was read. */
export function EditTypeDialog({ type, onClose }: DialogProps & { type: string }) {
  return (
    <EditDialog<EventType>
      title={`Edit ${type}`}
      subject={type}
      recordKey={['event-types', type]}
      read={(client, options) => client.eventTypes.get(type, {}, options)}
      toFields={toDeclaration}
      save={(client, changes, options, record) =>
        client.eventTypes.put(type, { ...toDeclaration(record), ...changes } as EventTypePut, options)
      }
      labels={LABELS}
      formats={FORMATS}
      changes={[['event-types']]}
      savedText={`${type} was changed.`}
      onClose={onClose}
    >
      {() => (
        <>
          <TypeFields />
          <ChoiceField name="deprecated" label="Status" choices={STATES} />
        </>
      )}
    </EditDialog>
  );
}
