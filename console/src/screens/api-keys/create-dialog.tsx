/** The dialog that creates an API key, and shows its secret once. */

import { useState } from 'preact/hooks';
import type { ApiKey, ApiKeyCreate } from '../../api/client';
import { SecretDialog } from '../../ui/dialog';
import { ChoiceField, Field, type Values } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';
import { useOrganizationId } from '../../ui/place';
import { SelectField } from '../../ui/select-field';
import { ScopeMatrix } from './scope-field';
import { AREAS, BROAD_SCOPES, fieldOf, toScopes } from './scopes';

const DAY_MS = 86_400_000;

const EXPIRIES = [
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
  { value: '', label: 'Never' },
];

const INITIAL: Values = {
  name: '',
  broad: 'read',
  scopes: '',
  expiresAt: '90',
  allowedIps: '',
  ...Object.fromEntries(AREAS.map((area) => [fieldOf(area), 'none'])),
};

/** Return the body. `openedAt`: the time from which the days until the expiry count, so that repetitions are equal. */
function toBody(values: Values, openedAt: number): ApiKeyCreate {
  const { name = '', expiresAt, allowedIps = '' } = values;
  const networks = allowedIps.split(/[\s,]+/).filter(Boolean);
  return {
    name,
    scopes: toScopes(values),
    expiresAt: expiresAt ? new Date(openedAt + Number(expiresAt) * DAY_MS).toISOString() : null,
    allowedIps: networks.length > 0 ? networks : null,
  };
}

/** Create a key. */
export function CreateKeyDialog({ onClose }: { onClose: () => void }) {
  const organizationId = useOrganizationId();
  const [openedAt] = useState(Date.now);
  return (
    <FormDialog
      title="Create an API key"
      isWide
      name="create-api-key"
      initial={INITIAL}
      submitLabel="Create API key"
      isDisabled={(values) => toScopes(values).length === 0}
      call={(client, values, options) => client.organizations.apiKeys.create(organizationId, toBody(values, openedAt), options)}
      changes={[['organizations', organizationId, 'api-keys']]}
      renderResult={(result) => <NewKeyDialog apiKey={result} onClose={onClose} />}
      onClose={onClose}
    >
      {() => (
        <>
          <Field name="name" label="Name" required autoComplete="off" hint="Which program uses it. The log shows it as the actor." />
          <ChoiceField name="broad" label="In all areas" choices={BROAD_SCOPES} />
          <ScopeMatrix />
          <SelectField name="expiresAt" label="Expires" choices={EXPIRIES} />
          <Field
            name="allowedIps"
            label="Allowed networks"
            type="textarea"
            hint="Networks such as 192.0.2.0/24, one a line. Without any, the key works from everywhere."
          />
        </>
      )}
    </FormDialog>
  );
}

function NewKeyDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  return (
    <SecretDialog title={`The API key ${apiKey.name}`} secret={apiKey.key ?? ''} onClose={onClose}>
      Programs send it as <code>Authorization: Bearer</code>. If it is lost, rotate the key.
    </SecretDialog>
  );
}
