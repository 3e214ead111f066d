/** The dialogs that rotate and revoke an API key. */

import type { ApiKey } from '../../api/client';
import { ActionDialog } from '../../ui/action-dialog';
import { SecretDialog } from '../../ui/dialog';
import { FormDialog } from '../../ui/form-dialog';
import { useOrganizationId } from '../../ui/place';
import { SelectField } from '../../ui/select-field';

interface KeyDialogProps {
  apiKey: ApiKey;
  onClose: () => void;
}

const OVERLAPS = [
  { value: '0', label: 'Not at all: it may be known to others' },
  { value: '1', label: '1 hour' },
  { value: '24', label: '24 hours' },
  { value: '168', label: '7 days' },
];

/** Replace the secret of a key, and show the new one once. The former secret works for some more hours. */
export function RotateKeyDialog({ apiKey, onClose }: KeyDialogProps) {
  const organizationId = useOrganizationId();
  return (
    <FormDialog
      title={`Rotate ${apiKey.name}?`}
      name={`rotate-${apiKey.id}`}
      initial={{ graceHours: '24' }}
      submitLabel="Rotate"
      call={(client, { graceHours }, options) =>
        client.organizations.apiKeys.rotate(organizationId, apiKey.id, { graceHours: Number(graceHours) }, options)
      }
      changes={[['organizations', organizationId, 'api-keys']]}
      renderResult={({ key }) => (
        <SecretDialog title={`The new secret of ${apiKey.name}`} secret={key ?? ''} onClose={onClose}>
          Put it into the program that uses the key, before the former secret stops working.
        </SecretDialog>
      )}
      onClose={onClose}
    >
      {() => (
        <>
          <p>The key gets a new secret. Its scopes, networks and expiry stay.</p>
          <SelectField name="graceHours" label="The former secret still works for" choices={OVERLAPS} />
        </>
      )}
    </FormDialog>
  );
}

/** Revoke a key. */
export function RevokeKeyDialog({ apiKey, onClose }: KeyDialogProps) {
  const organizationId = useOrganizationId();
  return (
    <ActionDialog
      title={`Revoke ${apiKey.name}?`}
      confirmLabel="Revoke"
      typed={apiKey.name}
      call={(client) => client.organizations.apiKeys.revoke(organizationId, apiKey.id)}
      changes={[['organizations', organizationId, 'api-keys']]}
      doneText={`The API key ${apiKey.name} was revoked.`}
      onClose={onClose}
    >
      <p>Programs that use it are refused within 10 seconds, and so are the keys that it created. It stays listed. This cannot be undone.</p>
    </ActionDialog>
  );
}
