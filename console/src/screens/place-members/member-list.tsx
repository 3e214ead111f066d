/** The members of a platform or a space, with their roles. */

import type { ComponentChildren } from 'preact';
import type { Member } from '../../api/client';
import { useList } from '../../api/queries';
import { actionsColumn, DialogButtons } from '../../ui/dialog-buttons';
import { useCan, useMe } from '../../ui/place';
import { RoleNotice } from '../../ui/role-notice';
import { Empty } from '../../ui/states';
import { toWords } from '../../ui/status';
import { List, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { MemberDialogs } from './dialogs';
import type { MemberGroup } from './group';

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
  { title: 'Username', render: (each) => each.username ?? <span class="muted">None</span> },
  { title: 'Role', render: (each) => toWords(each.role) },
  { title: 'Joined', kind: 'time', render: (each) => <Time value={each.joinedAt} /> },
];

/** The list with its dialogs. `empty`: who takes part if there are no members. */
export function MemberList({ group, empty }: { group: MemberGroup; empty: string }) {
  const query = useList(group.key, (client, page, options) => group.list(client, page, options));
  return (
    <>
      <RoleNotice rule={group.changeRule}>You can read this list.</RoleNotice>
      <List
        query={query}
        noun="member"
        columns={useColumns(group)}
        getKey={(each) => each.userId}
        empty={<Empty title="No members yet">{empty}</Empty>}
      />
      <MemberDialogs group={group} members={query.items} />
    </>
  );
}

/** The buttons above the list: leave or join, and others. */
export function MemberActions({ group, children }: { group: MemberGroup; children?: ComponentChildren }) {
  const canJoin = useCan(group.joinRule);
  const canChange = useCan(group.changeRule);
  const userId = useMe().data?.data.id;
  const members = useList(group.key, (client, page, options) => group.list(client, page, options));
  const isListed = members.items.some((each) => each.userId === userId);
  const actions = [
    { dialog: 'leave', text: 'Leave', isShown: isListed },
    { dialog: 'join', text: 'Join', isShown: canJoin && !isListed && members.data !== undefined && !members.hasNextPage },
    { dialog: 'add', text: 'Add', isShown: canChange },
  ];
  return (
    <>
      <DialogButtons actions={actions} />
      {children}
    </>
  );
}

function useColumns(group: MemberGroup): readonly Column<Member>[] {
  const canChange = useCan(group.changeRule);
  const userId = useMe().data?.data.id;
  if (!canChange) return COLUMNS;
  const actions = actionsColumn<Member>((each) => ({
    id: each.userId,
    name: each.name ?? each.userId,
    actions: [
      { dialog: 'role', text: 'Change role' },
      { dialog: 'remove', text: 'Remove', kind: 'danger', isShown: each.userId !== userId },
    ],
  }));
  return [...COLUMNS, actions];
}
