/** What the invited person sees: who invites them, to what, as what, until when, and what is in the way. */

import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Acceptance } from '../api/client';
import { ApiProblem, hasStatus } from '../api/problems';
import { formatTime } from '../ui/time-format';
import { toWords } from '../ui/status';
import { Failed, Loading, Problem } from '../ui/states';
import type { HostedClient } from './client';
import { forgetToken } from './token';

interface PageProps {
  client: HostedClient;
  token: string | null;
  consoleAddress: string;
}

/** Answers that say that the invitation has ended. */
const ENDINGS: Record<string, string> = {
  invitation_expired: 'This invitation has expired. Ask for a new one.',
  invitation_revoked: 'This invitation was revoked, or replaced by a newer one. Look for a newer mail, or ask for a new invitation.',
  invitation_used: 'This invitation was already answered. If it was you, open the console.',
  unknown: 'This link is not valid. Check that you opened the whole link of the newest mail.',
};

/** The ending of each status, and of each answer, that is not open. */
const ENDINGS_BY_STATUS: Record<string, string> = {
  expired: 'invitation_expired',
  revoked: 'invitation_revoked',
  accepted: 'invitation_used',
  declined: 'invitation_used',
  not_found: 'unknown',
};

/** What keeps the signed-in user from accepting. */
const OBSTACLES: Record<string, string> = {
  email_mismatch: 'You are signed in with another address. Sign in with the address that was invited.',
  already_member: 'You are already a member, so there is nothing to accept.',
  invitation_used: 'This invitation was already answered.',
};

type Loaded = { invitation: Acceptance } | { error: unknown } | null;

/** The page. */
export function InvitationPage({ client, token, consoleAddress }: PageProps) {
  const [loaded, setLoaded] = useState<Loaded>(null);
  const load = async () => {
    if (!token) return;
    setLoaded(null);
    setLoaded(await describe(client, token));
  };
  useEffect(() => void load(), []);
  return (
    <main class="narrow stack">
      <p class="muted">Atrium</p>
      {!token ? (
        <Ending title="No invitation" consoleAddress={consoleAddress}>
          The link is incomplete. Open the link in the mail again.
        </Ending>
      ) : !loaded ? (
        <Loading lines={4} />
      ) : 'error' in loaded ? (
        <FailedInvitation error={loaded.error} onRetry={() => void load()} consoleAddress={consoleAddress} />
      ) : endingOrNull(loaded.invitation.status) ? (
        <Ending title="This link no longer works" consoleAddress={consoleAddress}>
          {endingOrNull(loaded.invitation.status)}
        </Ending>
      ) : (
        <Answering client={client} token={token} invitation={loaded.invitation} consoleAddress={consoleAddress} />
      )}
    </main>
  );
}

/** Return what to say about a status or the code of a problem, or null if the invitation is open. */
function endingOrNull(code: string): string | null {
  return ENDINGS[ENDINGS_BY_STATUS[code] ?? code] ?? null;
}

async function describe(client: HostedClient, token: string): Promise<Loaded> {
  try {
    return { invitation: await client.organizations.invitations.describe({ token }) };
  } catch (error) {
    return { error };
  }
}

function Ending({ title, children, consoleAddress }: { title: string; children: ComponentChildren; consoleAddress: string }) {
  useEffect(() => void (document.title = `${title} · Atrium`), [title]);
  return (
    <>
      <h1>{title}</h1>
      <p>{children}</p>
      <a class="button wide" href={consoleAddress}>
        Open the console
      </a>
    </>
  );
}

function FailedInvitation({ error, onRetry, consoleAddress }: { error: unknown; onRetry: () => void; consoleAddress: string }) {
  const ending = error instanceof ApiProblem ? endingOrNull(error.code) : null;
  if (!ending) return <Failed error={error} onRetry={onRetry} />;
  return (
    <Ending title="This link no longer works" consoleAddress={consoleAddress}>
      {ending}
    </Ending>
  );
}

interface AnsweringProps {
  client: HostedClient;
  token: string;
  invitation: Acceptance;
  consoleAddress: string;
}

function Answering({ client, token, invitation, consoleAddress }: AnsweringProps) {
  const [answer, setAnswer] = useState<Acceptance | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isPending, setIsPending] = useState(false);
  const target = invitation.organization ?? invitation.platform;
  const respond = async (decision: 'accept' | 'decline') => {
    setIsPending(true);
    try {
      setAnswer(await client.organizations.invitations.respond({ token, decision }));
      forgetToken('invitation');
    } catch (failure) {
      setError(failure);
      if (hasStatus(failure, 401)) signIn(consoleAddress);
    }
    setIsPending(false);
  };
  if (answer) return <Answered answer={answer} consoleAddress={consoleAddress} />;
  return (
    <>
      <h1>Join {target?.name}</h1>
      <Description invitation={invitation} />
      {error !== null && <Problem error={error} />}
      <Obstacle invitation={invitation} consoleAddress={consoleAddress} />
      {invitation.canAccept === true && (
        <div class="stack">
          <button type="button" class="button primary wide" disabled={isPending} onClick={() => void respond('accept')}>
            Accept
          </button>
          <button type="button" class="button wide" disabled={isPending} onClick={() => void respond('decline')}>
            Decline
          </button>
        </div>
      )}
    </>
  );
}

function Description({ invitation }: { invitation: Acceptance }) {
  return (
    <dl class="details">
      <dt>Invited by</dt>
      <dd>{invitation.inviterName ?? 'Somebody who is no longer a member'}</dd>
      <dt>As</dt>
      <dd>{toWords(invitation.role)}</dd>
      <dt>Address</dt>
      <dd>{invitation.email}</dd>
      <dt>Valid until</dt>
      <dd>{formatTime(invitation.expiresAt, 'utc')} UTC</dd>
    </dl>
  );
}

function Obstacle({ invitation, consoleAddress }: { invitation: Acceptance; consoleAddress: string }) {
  if (invitation.canAccept) return null;
  const isSignedOut = invitation.canAccept === null;
  const canSignIn = isSignedOut || invitation.reason === 'email_mismatch';
  return (
    <>
      {!isSignedOut && <p class="notice warning">{OBSTACLES[invitation.reason ?? ''] ?? 'You cannot accept it now.'}</p>}
      {canSignIn ? (
        <button type="button" class="button primary wide" onClick={() => signIn(consoleAddress)}>
          {isSignedOut ? 'Sign in to answer' : 'Sign in with another address'}
        </button>
      ) : (
        <a class="button wide" href={consoleAddress}>
          Open the console
        </a>
      )}
    </>
  );
}

function Answered({ answer, consoleAddress }: { answer: Acceptance; consoleAddress: string }) {
  const name = (answer.organization ?? answer.platform)?.name;
  if (answer.status !== 'accepted') {
    return (
      <Ending title="Invitation declined" consoleAddress={consoleAddress}>
        You did not join {name}. Whoever invited you can see that.
      </Ending>
    );
  }
  return (
    <Ending title={`You joined ${name}`} consoleAddress={consoleAddress}>
      You are {answer.role === 'admin' || answer.role === 'editor' ? 'an' : 'a'} {answer.role} now.
    </Ending>
  );
}

function signIn(consoleAddress: string): void {
  location.assign(`${consoleAddress}#/sign-in?then=invitation`);
}
