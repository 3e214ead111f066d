/** The members of an organization and their roles. */

import { operations } from '../../api/access';
import type { Member } from '../../api/client';
import { useList } from '../../api/queries';
import { linkTo, useDialog } from '../../ui/address';
import { actionsColumn, DialogButton } from '../../ui/dialog-buttons';
import { NameFilters, TRY_ANOTHER_WORD, useNameQuery } from '../../ui/name-filters';
import { PageHeader } from '../../ui/page';
import { useCan, useMe, useOrganizationId, useRole } from '../../ui/place';
import { RoleNotice } from '../../ui/role-notice';
import { Empty } from '../../ui/states';
import { toWords } from '../../ui/status';
import { List, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { LeaveDialog, RemoveDialog, TransferDialog } from './confirm-dialogs';
import { RoleDialog } from './role-dialog';

const COLUMNS: readonly Column<Member>[] = [
  {
    title: 'Name',
    kind: 'primary',
    render: (each) => (
      <>
        {each.name ?? each.username ?? each.userId}
        {each.email && <span class="sub">{each.email}</span>}
      </>
    ),
  },
  { title: 'Role', render: (each) => toWords(each.role) },
  { title: 'Joined', kind: 'time', render: (each) => <Time value={each.joinedAt} /> },
];

/** The screen. */
export default function Members() {
  const organizationId = useOrganizationId();
  const names = useNameQuery();
  const canUpdate = useCan(operations.update_organization_member);
  const query = useList(['organizations', organizationId, 'members', names], (client, page, options) =>
    client.organizations.members.list(organizationId, { ...page, ...names }, options),
  );
  return (
    <>
      <PageHeader title="Members" description="People with a role in this organization." actions={<Actions />} />
      <RoleNotice rule={operations.update_organization_member}>You can read this list.</RoleNotice>
      <div class="filters">
        <NameFilters placeholder={canUpdate ? 'Name, username or address' : 'Name or username'} usualOrder="First joined" />
      </div>
      <List
        query={query}
        noun="member"
        columns={useColumns()}
        getKey={(each) => each.userId}
        empty={
          <Empty title={names.q ? 'No member is found' : 'No members'}>
            {names.q ? TRY_ANOTHER_WORD : 'An organization has at least its owner.'}
          </Empty>
        }
      />
      <Dialogs members={query.items} />
    </>
  );
}

function Actions() {
  const organizationId = useOrganizationId();
  const role = useRole();
  const canInvite = useCan(operations.invite_to_organization);
  return (
    <>
      {role !== 'owner' && role !== null && <DialogButton dialog="leave">Leave</DialogButton>}
      {canInvite && (
        <a class="button primary" href={linkTo(`/o/${organizationId}/invitations`, { dialog: 'invite' })}>
          Invite
        </a>
      )}
    </>
  );
}

/** Return the columns with the actions that the user may call on each member. */
function useColumns(): readonly Column<Member>[] {
  const canUpdate = useCan(operations.update_organization_member);
  const canTransfer = useCan(operations.transfer_ownership);
  const userId = useMe().data?.data.id;
  if (!canUpdate) return COLUMNS;
  const actions = actionsColumn<Member>((each) => ({
    id: each.userId,
    name: each.name ?? each.userId,
    actions: [
      { dialog: 'role', text: 'Change role', isShown: each.role !== 'owner' },
      // Admins know the organization well enough. Anybody else becomes an admin first.
      { dialog: 'transfer', text: 'Make owner', isShown: canTransfer && each.role === 'admin' },
      { dialog: 'remove', text: 'Remove', kind: 'danger', isShown: each.role !== 'owner' && each.userId !== userId },
    ],
  }));
  return [...COLUMNS, actions];
}

/** The dialog that the address names. */
function Dialogs({ members }: { members: readonly Member[] }) {
  const { name, id: userId, close } = useDialog();
  if (name === 'leave') return <LeaveDialog onClose={close} />;
  const member = members.find((each) => each.userId === userId);
  if (!member) return null;
  if (name === 'role') return <RoleDialog member={member} onClose={close} />;
  if (name === 'transfer') return <TransferDialog member={member} onClose={close} />;
  return name === 'remove' ? <RemoveDialog member={member} onClose={close} /> : null;
}
