/** What the command palette offers: the screens that the user can open, their organizations, and actions. */

import { useEnvironment } from '../api/context';
import { useList } from '../api/queries';
import { shownStore } from './shown';
import { linkTo } from '../ui/address';
import { useMe } from '../ui/place';
import type { NavigationLink } from '../ui/navigation';

export interface Command {
  group: string;
  title: string;
  run: () => void;
}

/** Return the commands. `links`: the screens of the place. `organizationId`: the organization of the place. */
export function useCommands(links: readonly NavigationLink[], organizationId: string | undefined): Command[] {
  const { session } = useEnvironment();
  const me = useMe().data?.data;
  const open = (href: string) => () => void (location.hash = href);
  const screens = links.map(({ title, href, group }) => ({ group, title, run: open(href) }));
  const organizations = (me?.organizations ?? []).map((each) => ({
    group: 'Organizations',
    title: each.name,
    run: open(linkTo(`/o/${each.id}`)),
  }));
  const start = { group: 'Go to', title: 'All organizations and invitations', run: open(linkTo('/')) };
  const operate = { group: 'Go to', title: 'Operate the service', run: open(linkTo('/operate')) };
  return [
    ...screens,
    ...useProducts(organizationId),
    ...organizations,
    start,
    ...(me?.isOperator ? [operate] : []),
    { group: 'Actions', title: 'Show the keyboard shortcuts', run: () => shownStore.set('shortcuts') },
    { group: 'Actions', title: 'Sign out', run: () => void session.signOut() },
  ];
}

/** The platforms and sites of the organization. They are read when the palette opens. */
function useProducts(organizationId: string | undefined): Command[] {
  const id = organizationId ?? '';
  const enabled = { enabled: id !== '' };
  const platforms = useList(
    ['platforms', 'of', id],
    (client, page, options) => client.platforms.list({ ...page, organizationId: id }, options),
    enabled,
  );
  const sites = useList(
    ['organizations', id, 'sites'],
    (client, page, options) => client.organizations.sites.list(id, page, options),
    enabled,
  );
  const open = (href: string) => () => void (location.hash = href);
  return [
    ...platforms.items.map(({ id, name }) => ({ group: 'Platforms', title: name, run: open(linkTo(`/p/${id}`)) })),
    ...sites.items.map(({ id, name }) => ({ group: 'Sites', title: name, run: open(linkTo(`/s/${id}`)) })),
  ];
}

/** Return the commands that contain each word of the text, in their groups. */
export function findCommands(commands: readonly Command[], text: string): Command[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return commands.filter(({ group, title }) => words.every((word) => `${group} ${title}`.toLowerCase().includes(word)));
}
