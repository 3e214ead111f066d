/** The dialogs that invite somebody to an organization or a platform, and show the link. */

import type { Client, CreateOptions, Invitation, InvitationCreate } from '../api/client';
import type { QueryKey } from '../api/queries';
import { SecretDialog } from './dialog';
import { ChoiceField, Field, type Choice, type Values } from './form';
import { FormDialog } from './form-dialog';

const INITIAL: Values = { email: '', role: 'member', message: '', expiresInDays: '7' };

function toBody({ email = '', role, message, expiresInDays }: Values): InvitationCreate {
  const days = Number(expiresInDays);
  return { email, role: (role || null) as 'member' | null, message: message || null, expiresInDays: days };
}

interface InviteDialogProps {
  title: string;
  /** Identifies the form, so that its values survive signing in again. */
  name: string;
  /** The roles to choose from. */
  choices: Choice[];
  call: (client: Client, body: InvitationCreate, options?: CreateOptions) => PromiseLike<Invitation>;
  changes: QueryKey[];
  onClose: () => void;
}

/** Invite somebody, and show the link once. */
export function InviteDialog({ title, name, choices, call, changes, onClose }: InviteDialogProps) {
  return (
    <FormDialog
      title={title}
      name={name}
      initial={INITIAL}
      submitLabel="Send invitation"
      call={(client, values, options) => call(client, toBody(values), options)}
      changes={changes}
      renderResult={(result) => <InvitationLinkDialog invitation={result} onClose={onClose} />}
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

/** Show the link of an invitation, and whether it is also mailed. */
export function InvitationLinkDialog({ invitation, onClose }: { invitation: Invitation; onClose: () => void }) {
  const isMailed = !invitation.mailWithheld;
  return (
    <SecretDialog title="The invitation was created" secret={invitation.acceptUrl ?? ''} onClose={onClose}>
      {isMailed ? `${invitation.email} gets this link by mail.` : `${invitation.email} gets no mail, because they unsubscribed.`}{' '}
      You can also pass it on yourself.
    </SecretDialog>
  );
}
