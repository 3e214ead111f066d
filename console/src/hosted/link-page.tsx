/** The frame of a page that a signed link opens: what the link is about, how long it works, and how it ended. */

import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { SignedLink } from '../api/client';
import { hasStatus } from '../api/problems';
import { readConfiguration } from '../api/configuration';
import { Failed, Loading } from '../ui/states';
import { formatTime } from '../ui/time-format';
import { Toasts } from '../ui/toast';
import { createHostedClient } from './client';
import { LinkContext } from './link';
import { forgetToken } from './token';

const PAGES = { custom_domain: 'domain-setup', webhook: 'webhook-portal' } as const;

interface LinkPageProps {
  /** The type of links that the page accepts. */
  type: SignedLink['type'];
  token: string | null;
  children: (link: SignedLink) => ComponentChildren;
}

type State = { link: SignedLink } | { error: unknown } | 'ended' | null;

/** The page. `children` shows what the link is about, while it works. */
export function LinkPage({ type, token, children }: LinkPageProps) {
  const { apiBase } = readConfiguration();
  const [client] = useState(() => createHostedClient({ baseUrl: apiBase, linkToken: token ?? undefined }));
  const [state, setState] = useState<State>(null);
  const end = () => {
    forgetToken(PAGES[type]);
    setState('ended');
  };
  const load = async () => {
    setState(null);
    try {
      setState({ link: await client.signedLink.get() });
    } catch (error) {
      if (hasStatus(error, 401)) end();
      else setState({ error });
    }
  };
  useEffect(() => void (token && load()), []);
  if (!token) return <Ending title="No link">The address is incomplete. Open the whole link again.</Ending>;
  if (state === 'ended') return <Ended />;
  if (!state || 'error' in state) {
    return <main class="hosted stack">{state ? <Failed error={state.error} onRetry={() => void load()} /> : <Loading />}</main>;
  }
  if (state.link.type !== type) return <OtherPage link={state.link} address={`${apiBase}/${PAGES[state.link.type]}#token=${token}`} />;
  return (
    <LinkContext.Provider value={{ client, link: state.link, end }}>
      <Working link={state.link} onExpire={() => forgetToken(PAGES[type])}>
        {children(state.link)}
      </Working>
    </LinkContext.Provider>
  );
}

function Ended() {
  return (
    <Ending title="This link no longer works">
      Links are valid for an hour. They also end when the person who created them loses the right to do so, and when what they are
      about is deleted. Ask that person for a new link.
    </Ending>
  );
}

function OtherPage({ link, address }: { link: SignedLink; address: string }) {
  return (
    <Ending title="This link is for another page">
      It is about a {link.type === 'webhook' ? 'webhook' : 'custom domain'}. <a href={address}>Open its page</a>
    </Ending>
  );
}

/** What is shown instead of the page, with a title that screen readers announce. */
function Ending({ title, children }: { title: string; children: ComponentChildren }) {
  useEffect(() => void (document.title = `${title} · Atrium`), [title]);
  return (
    <main class="narrow stack">
      <p class="muted">Atrium</p>
      <h1>{title}</h1>
      <p>{children}</p>
    </main>
  );
}

interface WorkingProps {
  link: SignedLink;
  onExpire: () => void;
  children: ComponentChildren;
}

/** The page while the link works. It notices by itself when the link expires. */
function Working({ link, onExpire, children }: WorkingProps) {
  const minutes = useMinutesUntil(link.expiresAt);
  const until = `${formatTime(link.expiresAt, 'utc')} UTC`;
  useEffect(() => void (minutes <= 0 && onExpire()), [minutes <= 0]);
  if (minutes <= 0) {
    return <Ending title="This link has expired">It was valid until {until}. Ask {nameCreator(link)} for a new one.</Ending>;
  }
  return (
    <>
      <header class="banner">
        <span>
          {link.organization.name} · link from {nameCreator(link)}
        </span>
        <span class="nowrap">
          Works for {minutes} more {minutes === 1 ? 'minute' : 'minutes'}, until {until}
        </span>
      </header>
      <main class="hosted">{children}</main>
      <Toasts />
    </>
  );
}

/** Return the name of the person who created a link, for the middle of a sentence. */
export function nameCreator(link: SignedLink): string {
  return link.createdBy.name ?? 'a member';
}

function useMinutesUntil(time: string): number {
  const read = () => Math.ceil((Date.parse(time) - Date.now()) / 60_000);
  const [minutes, setMinutes] = useState(read);
  useEffect(() => {
    const timer = setInterval(() => setMinutes(read()), 5_000);
    return () => clearInterval(timer);
  }, [time]);
  return minutes;
}
