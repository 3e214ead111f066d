/** The dialogs that create, show, rotate and revoke a service key. */

import type { ServiceKey, ServiceKeyCreate } from '../../api/client';
import { useRecord } from '../../api/queries';
import { ActionDialog } from '../../ui/action-dialog';
import { Details, timeDetail } from '../../ui/details';
import { DetailDialog, SecretDialog } from '../../ui/dialog';
import { ChoiceField, Field, type Choice, type Values } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';
import { toLines } from '../../ui/lines';
import { toWords } from '../../ui/status';
import { RecordView } from '../../ui/table';

const CHANGES = [['system', 'service-keys']];
const INITIAL: Values = { name: '', scopes: 'events:write', types: '', expiresAt: '', allowedIps: '' };
const SCOPES: readonly Choice[] = [
  { value: 'events:write', label: 'Write and read events', hint: 'For the program that reports events.' },
  { value: 'events:read', label: 'Read events', hint: 'For a program that shows them.' },
];

interface KeyDialogProps {
  serviceKey: ServiceKey;
  onClose: () => void;
}

function toBody({ name = '', scopes, types, expiresAt, allowedIps }: Values): ServiceKeyCreate {
  return {
    name,
    scopes: [scopes === 'events:read' ? 'events:read' : 'events:write'],
    types: toLines(types),
    expiresAt: expiresAt ? `${expiresAt}T00:00:00Z` : null,
    allowedIps: toLines(allowedIps),
  };
}

/** Create a key, and show its secret once. */
export function CreateDialog({ onClose }: { onClose: () => void }) {
  return (
    <FormDialog
      title="Create a service key"
      name="service-key"
      initial={INITIAL}
      submitLabel="Create"
      call={(client, values, options) => client.system.serviceKeys.create(toBody(values), options)}
      changes={CHANGES}
      renderResult={(result) => <KeySecret serviceKey={result} onClose={onClose} />}
      onClose={onClose}
    >
      {() => (
        <>
          <Field name="name" label="Name" required hint="What uses the key, such as “Invoicing”." />
          <ChoiceField name="scopes" label="Scope" choices={SCOPES} />
          <Field name="types" label="Event types" type="textarea" hint="One a line, such as invoice.*. Without any, all types are allowed." />
          <Field name="allowedIps" label="Networks" type="textarea" hint="One a line, such as 192.0.2.0/24. Without any, the key works from everywhere." />
          <Field name="expiresAt" label="Expires on" type="date" hint="At 00:00 UTC, at most 365 days ahead. Without a date, after 365 days." />
        </>
      )}
    </FormDialog>
  );
}

function KeySecret({ serviceKey, onClose }: KeyDialogProps) {
  return (
    <SecretDialog title={`The secret of ${serviceKey.name}`} secret={serviceKey.key ?? ''} onClose={onClose}>
      Store it in the settings of the program. If it is lost, rotate the key to get another.
    </SecretDialog>
  );
}

/** Give a key a new secret, and show it once. */
export function RotateDialog({ serviceKey, onClose }: KeyDialogProps) {
  return (
    <FormDialog
      title={`Rotate ${serviceKey.name}`}
      name="rotate-service-key"
      initial={{ graceHours: '24' }}
      submitLabel="Rotate"
      call={(client, { graceHours }, options) => client.system.serviceKeys.rotate(serviceKey.id, { graceHours: Number(graceHours) }, options)}
      changes={CHANGES}
      renderResult={(result) => <KeySecret serviceKey={result} onClose={onClose} />}
      onClose={onClose}
    >
      {() => (
        <>
          <p>The key gets a new secret. Its expiry and its limits stay.</p>
          <Field
            name="graceHours"
            label="Hours for which the former secret still works"
            type="number"
            required
            hint="At most 168. With 0, it ends at once."
          />
        </>
      )}
    </FormDialog>
  );
}

/** Revoke a key. */
export function RevokeDialog({ serviceKey, onClose }: KeyDialogProps) {
  return (
    <ActionDialog
      title={`Revoke ${serviceKey.name}?`}
      confirmLabel="Revoke"
      typed={serviceKey.name}
      call={(client) => client.system.serviceKeys.revoke(serviceKey.id)}
      changes={CHANGES}
      doneText={`${serviceKey.name} was revoked.`}
      onClose={onClose}
    >
      <p>The program that uses it gets 401 from now on, and its events are lost until it has another key. This cannot be undone.</p>
    </ActionDialog>
  );
}

/** Show a key as it is now. A list may lag behind a change for a moment. */
export function KeyDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const query = useRecord(['system', 'service-keys', id], (client, options) => client.system.serviceKeys.get(id, options));
  return (
    <DetailDialog title={query.data?.data.name ?? 'Service key'} onClose={onClose}>
      <RecordView query={query}>{(serviceKey) => <KeyDetails serviceKey={serviceKey} />}</RecordView>
    </DetailDialog>
  );
}

function KeyDetails({ serviceKey }: { serviceKey: ServiceKey }) {
  const { hint, status, scopes, types, allowedIps, createdBy, formerSecretsUntil } = serviceKey;
  return (
    <Details
      items={[
        ['Secret', <code>{hint}</code>],
        ['Status', toWords(status)],
        ['Scope', scopes.join(', ')],
        ['Event types', types?.join(', ') ?? 'All'],
        ['Networks', allowedIps.join(', ') || 'Any'],
        ['Created by', createdBy && <code>{createdBy}</code>],
        timeDetail('Created', serviceKey.createdAt),
        timeDetail('Last used', serviceKey.lastUsedAt),
        timeDetail('Expires', serviceKey.expiresAt),
        ...(formerSecretsUntil ? [timeDetail('Former secret ends', formerSecretsUntil)] : []),
      ]}
    />
  );
}
