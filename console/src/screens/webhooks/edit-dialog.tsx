/** The dialog that edits a webhook. */

import type { Webhook, WebhookPatch } from '../../api/client';
import { EditDialog } from '../../ui/edit-form';
import { STATE_FORMATS, StateField, withEventPatterns } from '../../ui/events-field';
import { useOrganizationId } from '../../ui/place';
import { WebhookFields } from './create-dialog';

const LABELS = { url: 'URL', enabled: 'Status' };

interface EditWebhookDialogProps {
  webhook: Webhook;
  onClose: () => void;
}

/** Edit a webhook. */
export function EditWebhookDialog({ webhook, onClose }: EditWebhookDialogProps) {
  const organizationId = useOrganizationId();
  return (
    <EditDialog<Webhook>
      title="Edit the webhook"
      subject={webhook.url}
      recordKey={['webhooks', organizationId, webhook.id]}
      read={(client, options) => client.organizations.webhooks.get(organizationId, webhook.id, options)}
      toFields={({ url, description, events, enabled }) => ({ url, description, events: events.join('\n'), enabled })}
      save={(client, changes, options) =>
        client.organizations.webhooks.update(organizationId, webhook.id, withEventPatterns(changes) as WebhookPatch, options)
      }
      labels={LABELS}
      formats={STATE_FORMATS}
      changes={[['organizations', organizationId, 'webhooks']]}
      savedText="The webhook was changed."
      onClose={onClose}
    >
      {() => (
        <>
          <WebhookFields />
          <StateField hint="Events are recorded as skipped, and can be replayed." />
        </>
      )}
    </EditDialog>
  );
}
