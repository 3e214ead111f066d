/** The navigation: the screens of the place that an address names. */

import { matchRoute, useRouter } from 'wouter-preact';
import { GROUPS, ROUTES } from '../routes';
import { linkTo } from './address';

/** The place that an address names, and how the paths of its screens begin. */
export interface Place {
  kind: 'organization' | 'platform' | 'site' | 'operations' | 'start';
  prefix: string;
  id: string;
}

const KINDS = { o: 'organization', p: 'platform', s: 'site' } as const;

/** Return the place that a path names. */
export function placeOf(path: string): Place {
  const [, letter = '', id = ''] = /^\/([ops])\/([^/]+)/.exec(path) ?? [];
  const kind = KINDS[letter as keyof typeof KINDS];
  if (kind) return { kind, prefix: `/${letter}/:${kind}`, id };
  return path.startsWith('/operate') ? { kind: 'operations', prefix: '/operate', id } : { kind: 'start', prefix: '', id };
}

export interface NavigationLink {
  group: string;
  title: string;
  href: string;
  isCurrent: boolean;
}

/** Return the links to the screens of a place, in the order of their groups. */
export function useNavigation(place: Place, path: string): NavigationLink[] {
  const { parser } = useRouter();
  // At the start, the screens of no place are offered, such as those of reference data.
  const routes = ROUTES.filter(({ path: each }) => (place.prefix ? each.startsWith(place.prefix) : placeOf(each).kind === 'start'));
  return GROUPS.flatMap((group) =>
    routes
      .filter((route) => route.group === group)
      .map((route) => ({
        group,
        title: route.title,
        href: linkTo(route.path.replace(`:${place.kind}`, place.id)),
        // A screen below another, such as that of a page, belongs to it. The first screen of a place has none below it.
        isCurrent: matchRoute(parser, route.path, path, route.path !== place.prefix)[0],
      })),
  );
}
