/** The dialogs that invite somebody, send an invitation again, and revoke one. */

import type { Invitation, InvitationCreate } from '../../api/client';
import { ActionDialog } from '../../ui/action-dialog';
import { SecretDialog } from '../../ui/dialog';
import { ChoiceField, Field, type Values } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';
import { useOrganizationId, useRole } from '../../ui/place';
import { roleChoices } from '../../ui/roles';

interface InvitationDialogProps {
  invitation: Invitation;
  onClose: () => void;
}

const INITIAL: Values = { email: '', role: 'member', message: '', expiresInDays: '7' };

function toBody({ email = '', role, message, expiresInDays }: Values): InvitationCreate {
  const days = Number(expiresInDays);
  return { email, role: (role || null) as 'member' | null, message: message || null, expiresInDays: days };
}

/** Invite somebody, and show the link once. */
export function InviteDialog({ onClose }: { onClose: () => void }) {
  const organizationId = useOrganizationId();
  const choices = roleChoices(useRole());
  return (
    <FormDialog
      title="Invite somebody"
      name="invite"
      initial={INITIAL}
      submitLabel="Send invitation"
      call={(client, values, options) => client.organizations.invitations.create(organizationId, toBody(values), options)}
      changes={[['organizations', organizationId, 'invitations']]}
      renderResult={(result) => <LinkDialog invitation={result} onClose={onClose} />}
      onClose={onClose}
    >
      {() => (
        <>
          <Field name="email" label="E-mail address" type="email" required autoComplete="off" />
          <ChoiceField name="role" label="Role" choices={choices} />
          <Field name="message" label="Message" type="textarea" hint="Part of the mail." />
          <Field name="expiresInDays" label="Valid for days" type="number" required hint="At most 30." />
        </>
      )}
    </FormDialog>
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
      renderResult={(result) => <LinkDialog invitation={result} onClose={onClose} />}
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

function LinkDialog({ invitation, onClose }: InvitationDialogProps) {
  const isMailed = !invitation.mailWithheld;
  return (
    <SecretDialog title="The invitation was created" secret={invitation.acceptUrl ?? ''} onClose={onClose}>
      {isMailed ? `${invitation.email} gets this link by mail.` : `${invitation.email} gets no mail, because they unsubscribed.`}{' '}
      You can also pass it on yourself.
    </SecretDialog>
  );
}
