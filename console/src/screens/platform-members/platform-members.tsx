/** The members of a platform, and inviting people to it. */

import { operations } from '../../api/access';
import type { InvitationCreate } from '../../api/client';
import { linkTo, useDialog } from '../../ui/address';
import { SecretDialog } from '../../ui/dialog';
import { DialogButton } from '../../ui/dialog-buttons';
import { ChoiceField, Field, type Values } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';
import { PageHeader } from '../../ui/page';
import { useCan, useOrganizationId, useOrganizationRole, usePlatform, usePlatformId, useRole } from '../../ui/place';
import { placeRoleChoices } from '../../ui/roles';
import type { MemberGroup } from '../place-members/group';
import { MemberActions, MemberList } from '../place-members/member-list';

function useGroup(): MemberGroup {
  const id = usePlatformId();
  const organizationId = useOrganizationId();
  return {
    noun: 'platform',
    name: usePlatform().data?.data.name ?? '',
    key: ['platforms', id, 'members'],
    list: (client, query, options) => client.platforms.members.list(id, query, options),
    get: (client, userId, options) => client.platforms.members.get(id, userId, options),
    update: (client, userId, body, options) => client.platforms.members.update(id, userId, body, options),
    remove: (client, userId, options) => client.platforms.members.remove(id, userId, options),
    join: (client, options) => client.platforms.join(id, options),
    leave: (client, options) => client.platforms.leave(id, options),
    candidates: {
      key: ['organizations', organizationId, 'members'],
      list: (client, query, options) => client.organizations.members.list(organizationId, query, options),
      hint: 'Members of the organization. Invite others.',
    },
    changeRule: operations.update_platform_member,
    joinRule: operations.join_platform,
    removal: 'They lose their roles on the platform and in all its spaces. A member of the organization can still take part as such.',
  };
}

/** The screen. */
export default function PlatformMembers() {
  const group = useGroup();
  const { name, close } = useDialog();
  const organizationId = useOrganizationId();
  const isOfOrganization = useOrganizationRole() !== null;
  const canInvite = useCan(operations.invite_to_platform);
  const policy = usePlatform().data?.data.joinPolicy;
  const inviteButton = canInvite && <DialogButton dialog="invite" kind="primary">Invite</DialogButton>;
  return (
    <>
      <PageHeader
        title="Members"
        description={
          <>
            {policy === 'open' ? 'Everybody can join the platform while it is published.' : 'People join the platform by invitation.'}{' '}
            Members of the organization take part without being listed.{' '}
            {canInvite && isOfOrganization && <a href={linkTo(`/o/${organizationId}/invitations`)}>Pending invitations</a>}
          </>
        }
        actions={<MemberActions group={group}>{inviteButton}</MemberActions>}
      />
      <MemberList group={group} empty="Members of the organization take part in the platform. Invite others, or let everybody join." />
      {name === 'invite' && <InviteDialog onClose={close} />}
    </>
  );
}

const INITIAL: Values = { email: '', role: 'member', message: '', expiresInDays: '7' };

function toBody({ email = '', role, message, expiresInDays }: Values): InvitationCreate {
  return { email, role: role as 'member', message: message || null, expiresInDays: Number(expiresInDays) };
}

function InviteDialog({ onClose }: { onClose: () => void }) {
  const platformId = usePlatformId();
  const choices = placeRoleChoices(useRole());
  return (
    <FormDialog
      title="Invite to the platform"
      name="invite-to-platform"
      initial={INITIAL}
      submitLabel="Send invitation"
      call={(client, values, options) => client.platforms.invite(platformId, toBody(values), options)}
      changes={[['organizations']]}
      renderResult={({ email, acceptUrl, mailWithheld }) => (
        <SecretDialog title="The invitation was created" secret={acceptUrl ?? ''} onClose={onClose}>
          {mailWithheld ? `${email} gets no mail, because they unsubscribed.` : `${email} gets this link by mail.`} You can also pass it on yourself.
        </SecretDialog>
      )}
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
