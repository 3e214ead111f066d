/** The dialog that creates a link by which somebody without an account manages one webhook. */

import type { Webhook } from '../../api/client';
import { ActionDialog } from '../../ui/action-dialog';
import { SecretDialog } from '../../ui/dialog';
import { useOrganizationId } from '../../ui/place';
import { Time, ZoneName } from '../../ui/time';

interface LinkDialogProps {
  webhook: Webhook;
  onClose: () => void;
}

/** Create a link, and show it once. */
export function LinkDialog({ webhook, onClose }: LinkDialogProps) {
  const organizationId = useOrganizationId();
  return (
    <ActionDialog
      title="Share this webhook by a link?"
      confirmLabel="Create link"
      isDangerous={false}
      call={(client, options) => client.organizations.webhooks.createLink(organizationId, webhook.id, options)}
      changes={[]}
      renderResult={({ url, expiresAt }) => (
        <SecretDialog title="The link was created" secret={url} onClose={onClose}>
          Send it to the team that runs the receiver. It works until <Time value={expiresAt} /> <ZoneName />, for everybody who
          has it.
        </SecretDialog>
      )}
      onClose={onClose}
    >
      <p>
        For one hour, whoever has the link sees this webhook and its deliveries without an account. They can retry
        deliveries, send tests and replace the secret. The log records what they do.
      </p>
    </ActionDialog>
  );
}
