/** The dialogs that remove a member, leave an organization, or pass it on. */

import type { Member } from '../../api/client';
import { ActionDialog } from '../../ui/action-dialog';
import { navigate } from '../../ui/address';
import { useOrganization, useOrganizationId } from '../../ui/place';

interface MemberDialogProps {
  member: Member;
  onClose: () => void;
}

/** Remove a member. */
export function RemoveDialog({ member, onClose }: MemberDialogProps) {
  const organizationId = useOrganizationId();
  const name = member.name ?? member.userId;
  return (
    <ActionDialog
      title={`Remove ${name}?`}
      confirmLabel="Remove"
      call={(client) => client.organizations.members.remove(organizationId, member.userId)}
      changes={[['organizations', organizationId, 'members']]}
      doneText={`${name} was removed.`}
      onClose={onClose}
    >
      <p>They lose access to the organization and all its platforms and spaces. Their API keys stop working. To let them back in, invite them again.</p>
    </ActionDialog>
  );
}

/** Make another member the owner. */
export function TransferDialog({ member, onClose }: MemberDialogProps) {
  const organizationId = useOrganizationId();
  const organization = useOrganization().data?.data;
  const name = member.name ?? member.userId;
  return (
    <ActionDialog
      title={`Make ${name} the owner?`}
      confirmLabel="Make owner"
      typed={organization?.name ?? ''}
      call={(client, options) => client.organizations.transferOwnership(organizationId, { newOwnerId: member.userId }, options)}
      changes={[['organizations'], ['me']]}
      doneText={`${name} is the owner now.`}
      onClose={onClose}
    >
      <p>You become an admin. Only {name} can give the ownership back.</p>
    </ActionDialog>
  );
}

/** Leave the organization of this screen. */
export function LeaveDialog({ onClose }: { onClose: () => void }) {
  const organizationId = useOrganizationId();
  const name = useOrganization().data?.data.name ?? '';
  return (
    <ActionDialog
      title={`Leave ${name}?`}
      confirmLabel="Leave"
      typed={name}
      call={(client, options) => client.organizations.leave(organizationId, options)}
      changes={[['me']]}
      doneText={`You left ${name}.`}
      onDone={() => navigate('/')}
      onClose={onClose}
    >
      <p>You lose access to all its platforms and spaces, and your pending invitations are revoked. An admin can invite you again.</p>
    </ActionDialog>
  );
}
