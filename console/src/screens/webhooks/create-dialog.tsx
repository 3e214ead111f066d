/** The dialog that creates a webhook, and shows its secret once. */

import type { WebhookCreate } from '../../api/client';
import { useAction } from '../../api/queries';
import { linkTo } from '../../ui/address';
import { Dialog, DialogFooter, SecretDialog } from '../../ui/dialog';
import { ALL_EVENTS, EventsField, toEventPatterns } from '../../ui/events-field';
import { Field, Form, type Values } from '../../ui/form';
import { useOrganizationId } from '../../ui/place';

const INITIAL: Values = { url: '', description: '', events: ALL_EVENTS };

function toBody(values: Values): WebhookCreate {
  return { url: values.url ?? '', description: values.description || null, events: toEventPatterns(values) };
}

/** Create a webhook. */
export function CreateDialog({ onClose }: { onClose: () => void }) {
  const organizationId = useOrganizationId();
  const action = useAction({
    call: (client, values: Values, options) => client.organizations.webhooks.create(organizationId, toBody(values), options),
    changes: [['organizations', organizationId, 'webhooks']],
  });
  const { data } = action;
  if (data) {
    const open = () => (location.hash = linkTo(`/o/${organizationId}/webhooks/${data.id}`));
    return (
      <SecretDialog title="The webhook was created" secret={data.secret ?? ''} onClose={open}>
        The receiver uses this secret to verify that messages come from this service. Lost secrets can be replaced.
      </SecretDialog>
    );
  }
  return (
    <Dialog title="Create a webhook" onClose={onClose}>
      <Form name="create-webhook" initial={INITIAL} error={action.error} onSubmit={action.mutate}>
        {(values) => (
          <>
            <WebhookFields />
            <DialogFooter
              submitLabel="Create"
              onCancel={onClose}
              isPending={action.isPending}
              call={(client) => client.organizations.webhooks.create(organizationId, toBody(values))}
            />
          </>
        )}
      </Form>
    </Dialog>
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
