/** The dialogs that change the role of a member, remove one, join and leave. */

import type { Client, Member } from '../../api/client';
import { useList } from '../../api/queries';
import { ActionDialog } from '../../ui/action-dialog';
import { useDialog } from '../../ui/address';
import { EditDialog } from '../../ui/edit-form';
import { ChoiceField, Field, type Values } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';
import { useRole } from '../../ui/place';
import { placeRoleChoices } from '../../ui/roles';
import { SelectField } from '../../ui/select-field';
import type { MemberGroup } from './group';

interface DialogProps {
  group: MemberGroup;
  onClose: () => void;
}

/** The dialog that the address names. */
export function MemberDialogs({ group, members }: { group: MemberGroup; members: readonly Member[] }) {
  const { name, id, close: onClose } = useDialog();
  if (name === 'join' || name === 'leave') return <MembershipDialog group={group} isJoining={name === 'join'} onClose={onClose} />;
  if (name === 'add') return <AddDialog group={group} members={members} onClose={onClose} />;
  const member = members.find((each) => each.userId === id);
  if (!member) return null;
  if (name === 'role') return <RoleDialog group={group} member={member} onClose={onClose} />;
  return name === 'remove' ? <RemoveDialog group={group} member={member} onClose={onClose} /> : null;
}

function RoleDialog({ group, member, onClose }: DialogProps & { member: Member }) {
  const choices = placeRoleChoices(useRole());
  const name = member.name ?? member.userId;
  return (
    <EditDialog
      title={`Change the role of ${name}`}
      recordKey={[...group.key, member.userId]}
      read={(client, options) => group.get(client, member.userId, options)}
      toFields={({ role, username }: Member) => (group.noun === 'platform' ? { role, username } : { role })}
      save={(client, changes, options) => group.update(client, member.userId, changes, options)}
      // The role of the user is read again, too.
      changes={[group.key.slice(0, 2)]}
      subject={name}
      savedText={`The role of ${name} was changed.`}
      onClose={onClose}
    >
      {() => (
        <>
          <ChoiceField name="role" label="Role" choices={choices} />
          {group.noun === 'platform' && <Field name="username" label="Username" hint="Unique on the platform." autoComplete="off" />}
        </>
      )}
    </EditDialog>
  );
}

function AddDialog({ group, members, onClose }: DialogProps & { members: readonly Member[] }) {
  const choices = placeRoleChoices(useRole());
  const { key, list, hint } = group.candidates;
  const candidates = useList(key, (client, page, options) => list(client, page, options));
  const others = candidates.items.filter((each) => !members.some(({ userId }) => userId === each.userId));
  const people = others.map((each) => ({ value: each.userId, label: each.name ?? each.username ?? each.userId }));
  const call = (client: Client, { userId = '', role }: Values) => group.update(client, userId, { role: role as 'member' });
  return (
    <FormDialog
      title={`Add to ${group.name}`}
      name="add-member"
      initial={{ userId: '', role: 'member' }}
      submitLabel="Add"
      isDisabled={(values) => !values.userId}
      call={call}
      changes={[group.key]}
      doneText={(member) => `${member.name ?? member.userId} was added.`}
      onClose={onClose}
    >
      {() => (
        <>
          <SelectField name="userId" label="Person" choices={[{ value: '', label: 'Choose a person' }, ...people]} hint={hint} query={candidates} />
          <ChoiceField name="role" label="Role" choices={choices} />
        </>
      )}
    </FormDialog>
  );
}

function RemoveDialog({ group, member, onClose }: DialogProps & { member: Member }) {
  const name = member.name ?? member.userId;
  return (
    <ActionDialog
      title={`Remove ${name}?`}
      confirmLabel="Remove"
      call={(client) => group.remove(client, member.userId)}
      changes={[group.key]}
      doneText={`${name} was removed.`}
      onClose={onClose}
    >
      <p>{group.removal}</p>
    </ActionDialog>
  );
}

function MembershipDialog({ group, isJoining, onClose }: DialogProps & { isJoining: boolean }) {
  return (
    <ActionDialog
      title={isJoining ? `Join ${group.name}?` : `Leave ${group.name}?`}
      confirmLabel={isJoining ? 'Join' : 'Leave'}
      isDangerous={!isJoining}
      call={(client, options): PromiseLike<unknown> => (isJoining ? group.join(client, options) : group.leave(client, options))}
      changes={[group.key.slice(0, 2)]}
      doneText={isJoining ? `You joined ${group.name}.` : `You left ${group.name}.`}
      onClose={onClose}
    >
      <p>{isJoining ? `You become a member of this ${group.noun}, and others see you in the list.` : `You lose your role in this ${group.noun}. Roles that you have around it stay.`}</p>
    </ActionDialog>
  );
}
