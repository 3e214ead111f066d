/** The dialog that creates a webhook, and shows its secret once. */

import type { WebhookCreate } from '../../api/client';
import { navigate } from '../../ui/address';
import { SecretDialog } from '../../ui/dialog';
import { ALL_EVENTS, EventsField, toEventPatterns } from '../../ui/events-field';
import { Field, type Values } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';
import { useOrganizationId } from '../../ui/place';

const INITIAL: Values = { url: '', description: '', events: ALL_EVENTS };

function toBody(values: Values): WebhookCreate {
  return { url: values.url ?? '', description: values.description || null, events: toEventPatterns(values) };
}

/** Create a webhook. */
export function CreateDialog({ onClose }: { onClose: () => void }) {
  const organizationId = useOrganizationId();
  return (
    <FormDialog
      title="Create a webhook"
      name="create-webhook"
      initial={INITIAL}
      submitLabel="Create"
      call={(client, values, options) => client.organizations.webhooks.create(organizationId, toBody(values), options)}
      changes={[['organizations', organizationId, 'webhooks']]}
      renderResult={({ id, secret }) => (
        <SecretDialog title="The webhook was created" secret={secret ?? ''} onClose={() => navigate(`/o/${organizationId}/webhooks/${id}`)}>
          The receiver uses this secret to verify that messages come from this service. Lost secrets can be replaced.
        </SecretDialog>
      )}
      onClose={onClose}
    >
      {() => <WebhookFields />}
    </FormDialog>
  );
}

/** The fields that forms for new and present webhooks share. */
export function WebhookFields() {
  return (
    <>
      <Field name="url" label="URL" type="url" required autoComplete="off" hint="An https address of yours. It receives each event as a POST request." />
      <Field name="description" label="Description" hint="For example, what the receiver does, and who runs it." />
      <EventsField />
    </>
  );
}
