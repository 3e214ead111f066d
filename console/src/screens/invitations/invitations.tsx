/** The invitations to an organization and its platforms. */

import { operations } from '../../api/access';
import type { Invitation } from '../../api/client';
import { useList } from '../../api/queries';
import { useChoice, useDialog, useParameter } from '../../ui/address';
import { actionsColumn, DialogButton } from '../../ui/dialog-buttons';
import { SelectFilter } from '../../ui/filters';
import { PageHeader } from '../../ui/page';
import { useCan, useOrganizationId } from '../../ui/place';
import { Empty } from '../../ui/states';
import { Status, toWords, type Tone } from '../../ui/status';
import { List, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { InviteToOrganizationDialog, ResendDialog, RevokeDialog } from './dialogs';

const STATUSES = ['pending', 'accepted', 'declined', 'revoked', 'expired'] as const;
const TONES: Record<string, Tone> = { pending: 'warning', accepted: 'good', declined: 'bad' };

const COLUMNS: readonly Column<Invitation>[] = [
  {
    title: 'Address',
    kind: 'primary',
    render: (each) => (
      <>
        {each.email}
        {each.platformId && <span class="sub">To a platform</span>}
      </>
    ),
  },
  { title: 'Role', render: (each) => toWords(each.role) },
  { title: 'Status', render: (each) => <Status tone={TONES[each.status] ?? 'neutral'}>{toWords(each.status)}</Status> },
  { title: 'Sent', kind: 'time', render: (each) => <Time value={each.sentAt} /> },
  { title: 'Until', kind: 'time', render: (each) => <Time value={each.expiresAt} /> },
];

/** The screen. */
export default function Invitations() {
  const organizationId = useOrganizationId();
  const [status] = useChoice('status', STATUSES);
  const [email] = useParameter('email');
  const query = useList(['organizations', organizationId, 'invitations', { status, email }], (client, page, options) =>
    client.organizations.invitations.list(organizationId, { ...page, status, email: email ?? undefined }, options),
  );
  const inviteButton = <DialogButton dialog="invite" kind="primary">Invite</DialogButton>;
  return (
    <>
      <PageHeader title="Invitations" description="People who were asked to join, and what they answered." actions={inviteButton} />
      <div class="filters">
        <SelectFilter parameter="status" label="Status" choices={STATUSES} />
      </div>
      <List
        query={query}
        noun="invitation"
        columns={useColumns()}
        getKey={(each) => each.id}
        empty={
          <Empty title={status ? `No invitation is ${status}` : 'Nobody has been invited yet'} action={inviteButton}>
            An invitation is a mail with a link. Whoever opens it, and signs in with the same address, gets the role.
          </Empty>
        }
      />
      <Dialogs invitations={query.items} />
    </>
  );
}

function useColumns(): readonly Column<Invitation>[] {
  const canRevoke = useCan(operations.revoke_invitation);
  if (!canRevoke) return COLUMNS;
  const actions = actionsColumn<Invitation>(({ id, email, status }) => ({
    id,
    name: email,
    actions: [
      { dialog: 'resend', text: 'Send again', isShown: status === 'pending' },
      { dialog: 'revoke', text: 'Revoke', kind: 'danger', isShown: status === 'pending' },
    ],
  }));
  return [...COLUMNS, actions];
}

/** The dialog that the address names. */
function Dialogs({ invitations }: { invitations: readonly Invitation[] }) {
  const { name, id, close } = useDialog();
  if (name === 'invite') return <InviteToOrganizationDialog onClose={close} />;
  const invitation = invitations.find((each) => each.id === id);
  if (!invitation) return null;
  if (name === 'resend') return <ResendDialog invitation={invitation} onClose={close} />;
  return name === 'revoke' ? <RevokeDialog invitation={invitation} onClose={close} /> : null;
}
