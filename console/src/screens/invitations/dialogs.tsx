/** The dialogs that invite somebody, send an invitation again, and revoke one. */

import type { Invitation } from '../../api/client';
import { ActionDialog } from '../../ui/action-dialog';
import { InvitationLinkDialog, InviteDialog } from '../../ui/invite-dialog';
import { useOrganizationId, useRole } from '../../ui/place';
import { roleChoices } from '../../ui/roles';

interface InvitationDialogProps {
  invitation: Invitation;
  onClose: () => void;
}

/** Invite somebody to the organization. */
export function InviteToOrganizationDialog({ onClose }: { onClose: () => void }) {
  const organizationId = useOrganizationId();
  return (
    <InviteDialog
      title="Invite somebody"
      name="invite"
      choices={roleChoices(useRole())}
      call={(client, body, options) => client.organizations.invitations.create(organizationId, body, options)}
      changes={[['organizations', organizationId, 'invitations']]}
      onClose={onClose}
    />
  );
}

/** Send an invitation again with a new link, and show the link once. */
export function ResendDialog({ invitation, onClose }: InvitationDialogProps) {
  const organizationId = useOrganizationId();
  return (
    <ActionDialog
      title="Send the invitation again?"
      confirmLabel="Send again"
      isDangerous={false}
      call={(client, options) => client.organizations.invitations.resend(organizationId, invitation.id, options)}
      changes={[['organizations', organizationId, 'invitations']]}
      renderResult={(result) => <InvitationLinkDialog invitation={result} onClose={onClose} />}
      onClose={onClose}
    >
      <p>{invitation.email} gets a new link, valid for {invitation.expiresInDays} days. The former link stops working.</p>
    </ActionDialog>
  );
}

/** Revoke an invitation. */
export function RevokeDialog({ invitation, onClose }: InvitationDialogProps) {
  const organizationId = useOrganizationId();
  return (
    <ActionDialog
      title="Revoke the invitation?"
      confirmLabel="Revoke"
      call={(client) => client.organizations.invitations.revoke(organizationId, invitation.id)}
      changes={[['organizations', organizationId, 'invitations']]}
      doneText={`The invitation of ${invitation.email} was revoked.`}
      onClose={onClose}
    >
      <p>The link that {invitation.email} received stops working.</p>
    </ActionDialog>
  );
}
