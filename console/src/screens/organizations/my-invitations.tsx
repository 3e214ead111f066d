/** The invitations to the user, with the buttons that answer them. */

import type { InvitationOfCaller } from '../../api/client';
import { useAction, useList } from '../../api/queries';
import { Section } from '../../ui/page';
import { Problem } from '../../ui/states';
import { toWords } from '../../ui/status';
import { List, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { showToast } from '../../ui/toast';

interface Answer {
  id: string;
  decision: 'accept' | 'decline';
}

const COLUMNS: readonly Column<InvitationOfCaller>[] = [
  {
    title: 'To',
    kind: 'primary',
    render: (each) => (
      <>
        {nameOf(each)}
        {each.platform && <span class="sub">A platform of {each.organization.name}</span>}
      </>
    ),
  },
  { title: 'As', render: (each) => toWords(each.role) },
  { title: 'Invited by', render: (each) => each.inviterName ?? 'Somebody who is no longer a member' },
  { title: 'Until', kind: 'time', render: (each) => <Time value={each.expiresAt} /> },
];

function nameOf({ platform, organization }: InvitationOfCaller): string {
  return (platform ?? organization).name;
}

/** The section. It is empty once all invitations are answered. */
export default function MyInvitations() {
  const query = useList(['me', 'invitations'], (client, page, options) => client.me.invitations.list(page, options));
  const action = useAction({
    call: (client, { id, decision }: Answer, options) => client.me.invitations.respond(id, { decision }, options),
    changes: [['me'], ['organizations']],
    onSuccess: (_, { decision }) => showToast(decision === 'accept' ? 'You joined.' : 'The invitation was declined.'),
  });
  const button = (decision: Answer['decision'], text: string, each: InvitationOfCaller) => (
    <button
      type="button"
      class={decision === 'accept' ? 'button primary' : 'quiet'}
      disabled={action.isPending}
      aria-label={`${text}: ${nameOf(each)}`}
      onClick={() => action.mutate({ id: each.id, decision })}
    >
      {text}
    </button>
  );
  const render = (each: InvitationOfCaller) => (
    <>
      {button('accept', 'Accept', each)} {button('decline', 'Decline', each)}
    </>
  );
  return (
    <Section title="Invitations to you">
      {action.error && <Problem error={action.error} />}
      <List
        query={query}
        noun="invitation"
        caption="Invitations to you"
        columns={[...COLUMNS, { title: 'Actions', kind: 'actions', render }]}
        getKey={(each) => each.id}
        empty={<p class="muted">There are no more invitations.</p>}
      />
    </Section>
  );
}
