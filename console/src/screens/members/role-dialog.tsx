/** The dialog that changes the role of a member. */

import type { Member, MemberPatch } from '../../api/client';
import { EditDialog } from '../../ui/edit-form';
import { ChoiceField } from '../../ui/form';
import { useOrganizationId, useRole } from '../../ui/place';
import { roleChoices } from '../../ui/roles';
import { toWords } from '../../ui/status';

const FORMATS = { role: toWords };

/** Change a role. */
export function RoleDialog({ member, onClose }: { member: Member; onClose: () => void }) {
  const organizationId = useOrganizationId();
  const choices = roleChoices(useRole());
  const { userId } = member;
  const name = member.name ?? userId;
  return (
    <EditDialog
      title={`Change the role of ${name}`}
      recordKey={['members', organizationId, userId]}
      read={(client, options) => client.organizations.members.get(organizationId, userId, options)}
      toFields={({ role }: Member) => ({ role })}
      save={(client, changes, options) => client.organizations.members.update(organizationId, userId, changes as MemberPatch, options)}
      changes={[['organizations', organizationId, 'members']]}
      subject={name}
      formats={FORMATS}
      savedText={`The role of ${name} was changed.`}
      submitLabel="Change role"
      onClose={onClose}
    >
      {() => (
        <>
          <ChoiceField name="role" label="Role" choices={choices} />
          <p class="small muted">A lower role also revokes the API keys that exceed it. The member is told by mail.</p>
        </>
      )}
    </EditDialog>
  );
}
