/** The members of a platform, and inviting people to it. */

import { operations } from '../../api/access';
import { linkTo, useDialog } from '../../ui/address';
import { DialogButton } from '../../ui/dialog-buttons';
import { InviteDialog } from '../../ui/invite-dialog';
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
      {name === 'invite' && <InviteToPlatformDialog onClose={close} />}
    </>
  );
}

function InviteToPlatformDialog({ onClose }: { onClose: () => void }) {
  const platformId = usePlatformId();
  return (
    <InviteDialog
      title="Invite to the platform"
      name="invite-to-platform"
      choices={placeRoleChoices(useRole())}
      call={(client, body, options) => client.platforms.invite(platformId, body, options)}
      changes={[['organizations']]}
      onClose={onClose}
    />
  );
}
