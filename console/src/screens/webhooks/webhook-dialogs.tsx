/** The dialogs of a webhook. */

import type { Webhook } from '../../api/client';
import { ActionDialog } from '../../ui/action-dialog';
import { navigate, useDialog } from '../../ui/address';
import { DeleteDialog } from '../../ui/delete-dialog';
import { useOrganizationId } from '../../ui/place';
import { RotateDialog } from '../../ui/rotate-dialog';
import { TrialDialog } from '../../ui/trial-dialog';
import { EditWebhookDialog } from './edit-dialog';
import { LinkDialog } from './link-dialog';
import { ReplayDialog } from './replay-dialog';

interface WebhookDialogProps {
  webhook: Webhook;
  onClose: () => void;
}

/** The dialog that the address names. */
export default function WebhookDialogs({ webhook }: { webhook: Webhook }) {
  const { name, close } = useDialog();
  const props = { webhook, onClose: close };
  if (name === 'edit') return <EditWebhookDialog {...props} />;
  if (name === 'test') return <TestWebhookDialog {...props} />;
  if (name === 'link') return <LinkDialog {...props} />;
  if (name === 'rotate') return <RotateWebhookDialog {...props} />;
  if (name === 'enable') return <EnableDialog {...props} />;
  if (name === 'delete') return <DeleteWebhookDialog {...props} />;
  return name === 'replay' ? <ReplayDialog onClose={props.onClose} /> : null;
}

function TestWebhookDialog({ webhook, onClose }: WebhookDialogProps) {
  const organizationId = useOrganizationId();
  return (
    <TrialDialog
      call={(client, options) => client.organizations.webhooks.test(organizationId, webhook.id, options)}
      changes={[['organizations', organizationId, 'webhooks', webhook.id]]}
      onClose={onClose}
    >
      {webhook.url} gets a signed message of the type <code>webhook.test</code>. The result appears here within 5 s.
    </TrialDialog>
  );
}

function RotateWebhookDialog({ webhook, onClose }: WebhookDialogProps) {
  const organizationId = useOrganizationId();
  return (
    <RotateDialog
      subject="this webhook"
      call={(client, body, options) => client.organizations.webhooks.rotateSecret(organizationId, webhook.id, body, options)}
      changes={[['organizations', organizationId, 'webhooks']]}
      onClose={onClose}
    />
  );
}

function EnableDialog({ webhook, onClose }: WebhookDialogProps) {
  const organizationId = useOrganizationId();
  return (
    <ActionDialog
      title="Turn the webhook on?"
      confirmLabel="Turn on"
      isDangerous={false}
      call={(client) => client.organizations.webhooks.update(organizationId, webhook.id, { enabled: true })}
      changes={[['organizations', organizationId, 'webhooks']]}
      doneText="The webhook is on."
      onClose={onClose}
    >
      <p>It receives events from now on. Those that were skipped are sent only by a replay.</p>
    </ActionDialog>
  );
}

function DeleteWebhookDialog({ webhook, onClose }: WebhookDialogProps) {
  const organizationId = useOrganizationId();
  const path = `/o/${organizationId}/webhooks`;
  return (
    <DeleteDialog
      title="Delete the webhook?"
      name={webhook.url}
      call={(client) => client.organizations.webhooks.delete(organizationId, webhook.id)}
      changes={[['organizations', organizationId, 'webhooks']]}
      onDone={() => navigate(path)}
      onClose={onClose}
    >
      <p>Pending events are not sent any more, and the list of deliveries is deleted too.</p>
    </DeleteDialog>
  );
}
