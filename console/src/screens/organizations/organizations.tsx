/** The start page: the organizations of the user, and the invitations to them. */

import type { OrganizationListItem } from '../../api/client';
import { useList } from '../../api/queries';
import { linkTo, useDialog, useParameter } from '../../ui/address';
import { DialogButton } from '../../ui/dialog-buttons';
import { lazy } from '../../ui/lazy';
import { PageHeader } from '../../ui/page';
import { useMe } from '../../ui/place';
import { Empty } from '../../ui/states';
import { Status, toWords } from '../../ui/status';
import { List, type Column } from '../../ui/table';
import { Time } from '../../ui/time';


const COLUMNS: readonly Column<OrganizationListItem>[] = [
  {
    title: 'Name',
    kind: 'primary',
    render: (each) => (
      <>
        <a href={linkTo(`/o/${each.id}`)}>{each.name}</a>
        <span class="sub">{each.slug}</span>
      </>
    ),
  },
  { title: 'Your role', render: (each) => toWords(each.role ?? 'none') },
  { title: 'Status', render: (each) => <Status tone={each.status === 'active' ? 'good' : 'warning'}>{toWords(each.status)}</Status> },
  { title: 'Created', kind: 'time', render: (each) => <Time value={each.createdAt} /> },
];

// The first screen stays small: what few people need is loaded when they need it.
const CreateOrganizationDialog = lazy(() => import('./create-dialog'));
const DeletedOrganizations = lazy(() => import('./deleted-organizations'));
const MyInvitations = lazy(() => import('./my-invitations'));

/** The screen. */
export default function Organizations() {
  const { name, close } = useDialog();
  const hasInvitations = (useMe().data?.data.pendingInvitations.length ?? 0) > 0;
  const query = useList(['organizations'], (client, page, options) => client.organizations.list(page, options));
  const createButton = <DialogButton dialog="create" kind="primary">Create organization</DialogButton>;
  return (
    <>
      <PageHeader title="Organizations" description="The organizations in which you have a role." actions={createButton} />
      {hasInvitations && <MyInvitations />}
      <List
        query={query}
        noun="organization"
        columns={COLUMNS}
        getKey={(each) => each.id}
        empty={
          <Empty title="You are in no organization yet" action={createButton}>
            An organization holds members, sites, platforms and one log of all changes. Create one, or open the link in an
            invitation.
          </Empty>
        }
      />
      <Deleted />
      {name === 'create' && <CreateOrganizationDialog onClose={close} />}
    </>
  );
}

/** The list of deleted organizations, or the link to it. */
function Deleted() {
  const [status] = useParameter('status');
  return status === 'pending_deletion' ? (
    <DeletedOrganizations />
  ) : (
    <p class="section">
      <a href={linkTo('/', { status: 'pending_deletion' })}>Deleted organizations</a>
    </p>
  );
}
