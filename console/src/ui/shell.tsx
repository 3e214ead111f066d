/** The frame around the screens: navigation, the choice of the organization, and the account. */

import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useEnvironment } from '../api/context';
import type { Me } from '../api/client';
import { describeKeys, SEARCH_KEYS } from '../keyboard/keys';
import { shownStore } from '../keyboard/shown';
import { linkTo, useFragmentPath } from './address';
import { Icon } from './icons';
import { lazy } from './lazy';
import { placeOf, useNavigation, type NavigationLink, type Place } from './navigation';
import { useMe, usePlatform, useSite } from './place';
import { Toasts } from './toast';
import { ZoneSwitch } from './time';

type Organizations = Me['organizations'];

/** The frame. */
export function Shell({ children }: { children: ComponentChildren }) {
  const [path] = useFragmentPath();
  const place = placeOf(path);
  const me = useMe().data?.data;
  const platform = usePlatform(place.kind === 'platform' ? place.id : '').data?.data;
  const site = useSite(place.kind === 'site' ? place.id : '').data?.data;
  const organizationId = place.kind === 'organization' ? place.id : (platform ?? site)?.organizationId;
  const links = useNavigation(place, path);
  const organization = me?.organizations.find((each) => each.id === organizationId);
  useEffect(() => document.querySelectorAll<HTMLElement>(':popover-open').forEach((each) => each.hidePopover()), [path]);
  return (
    <>
      <SkipLink />
      <Connection />
      <div class="frame">
        <header class="bar">
          <button type="button" class="quiet" popovertarget="sidebar" aria-label="Navigation">
            <Icon name="menu" />
          </button>
          <span class="truncate">{organization?.name ?? 'Atrium'}</span>
        </header>
        <aside id="sidebar" class="sidebar" popover="auto" aria-label="Navigation and account">
          <Switcher organizations={me?.organizations ?? []} current={organization} />
          <SearchButton />
          <nav class="navigation" aria-label="Screens">
            <Links {...{ place, path, links, organizationId }} name={(platform ?? site)?.name} />
          </nav>
          <Account me={me} />
        </aside>
        <main id="content" tabIndex={-1}>
          {children}
        </main>
      </div>
      <Toasts />
      <LazyKeyboard links={links} organizationId={organizationId} />
    </>
  );
}

/** The palette and shortcuts, which are loaded after the first screen. */
function LazyKeyboard(props: { links: readonly NavigationLink[]; organizationId: string | undefined }) {
  const { completeClient } = useEnvironment();
  const load = () => completeClient().then(() => import('../keyboard/keyboard'));
  const [Keyboard] = useState(() => lazy(load));
  return <Keyboard {...props} />;
}

function SkipLink() {
  // The link is not followed, because the fragment is the address of the screen.
  const skip = (event: Event) => {
    event.preventDefault();
    document.querySelector('main')?.focus();
  };
  return (
    <a class="skip-link" href="#content" onClick={skip}>
      Skip to content
    </a>
  );
}

function SearchButton() {
  return (
    <button type="button" class="search-button" onClick={() => shownStore.set('palette')}>
      Search <kbd>{describeKeys(SEARCH_KEYS)}</kbd>
    </button>
  );
}

interface LinksProps {
  place: Place;
  path: string;
  links: readonly NavigationLink[];
  /** The name of the platform or site, once it is read. */
  name: string | undefined;
  organizationId: string | undefined;
}

function Links({ place, path, links, name, organizationId }: LinksProps) {
  const isOperator = useMe().data?.data.isOperator ?? false;
  const render = ({ href, title, isCurrent }: Omit<NavigationLink, 'group'>) => (
    <a key={href} href={href} aria-current={isCurrent ? (href === linkTo(path) ? 'page' : 'true') : undefined}>
      {title}
    </a>
  );
  return (
    <>
      {place.kind === 'start' && render({ href: linkTo('/'), title: 'Organizations', isCurrent: path === '/' })}
      <WayBack place={place} name={name} organizationId={organizationId} />
      {[...new Set(links.map((each) => each.group))].map((group) => (
        <section key={group}>
          <h2>{group}</h2>
          {links.filter((each) => each.group === group).map(render)}
        </section>
      ))}
      {place.kind === 'start' && isOperator && <a href={linkTo('/operate')}>Operate the service</a>}
    </>
  );
}

/** The link from a platform or site to the list with it. */
function WayBack({ place, name, organizationId }: Pick<LinksProps, 'place' | 'name' | 'organizationId'>) {
  if (place.kind === 'operations') return <a href={linkTo('/')}>← Organizations</a>;
  if (place.kind !== 'platform' && place.kind !== 'site') return null;
  return (
    <>
      {organizationId && <a href={linkTo(`/o/${organizationId}/${place.kind}s`)}>← All {place.kind}s</a>}
      <strong class="truncate">{name ?? ' '}</strong>
    </>
  );
}

function Switcher({ organizations, current }: { organizations: Organizations; current: Organizations[number] | undefined }) {
  return (
    <>
      <button type="button" class="switcher" popovertarget="organizations">
        <span class="hidden-visually">Switch organization:</span>
        <span class="monogram" aria-hidden="true">
          {(current?.name ?? 'Atrium').charAt(0)}
        </span>
        <span class="truncate">
          <strong class="truncate">{current?.name ?? 'Atrium'}</strong>
          <span class="small muted truncate">{current ? `You are ${describeRole(current.role)}` : 'Choose an organization'}</span>
        </span>
        <Icon name="choose" />
      </button>
      <div id="organizations" class="menu" popover="auto">
        {organizations.map((each) => (
          <a key={each.id} href={linkTo(`/o/${each.id}`)}>
            <span class="truncate">{each.name}</span>
            <span class="small muted">{each.role}</span>
          </a>
        ))}
        <hr />
        <a href={linkTo('/')}>All organizations and invitations</a>
      </div>
    </>
  );
}

function describeRole(role: string): string {
  return role === 'owner' ? 'the owner' : /^[ae]/.test(role) ? `an ${role}` : `a ${role}`;
}

function Account({ me }: { me: Me | undefined }) {
  const { session } = useEnvironment();
  return (
    <div class="account">
      <div>
        <div class="truncate">{me?.name ?? me?.username ?? ' '}</div>
        <div class="truncate muted">{me?.email ?? ' '}</div>
      </div>
      <ZoneSwitch />
      <button type="button" class="quiet" onClick={() => void session.signOut()}>
        Sign out
      </button>
    </div>
  );
}

/** A banner while the browser is offline. */
function Connection() {
  const [isOnline, setIsOnline] = useState(navigator.onLine);
  useEffect(() => {
    const update = () => setIsOnline(navigator.onLine);
    addEventListener('online', update);
    addEventListener('offline', update);
    return () => {
      removeEventListener('online', update);
      removeEventListener('offline', update);
    };
  }, []);
  if (isOnline) return null;
  return (
    <div class="banner" role="alert">
      You are offline. What you see was loaded before, and changes fail until the connection is back.
    </div>
  );
}
