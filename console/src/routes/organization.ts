/** The screens of an organization: members and invitations. */

import { operations } from '../api/access';
import type { Route } from './route';

export const ORGANIZATION_ROUTES: readonly Route[] = [
  {
    path: '/',
    title: 'Organizations',
    access: operations.get_me,
    load: () => import('../screens/organizations/organizations'),
  },
  {
    path: '/o/:organization',
    title: 'Overview',
    access: operations.get_organization,
    group: 'Organization',
    load: () => import('../screens/overview/overview'),
  },
  {
    path: '/o/:organization/members',
    title: 'Members',
    access: operations.list_organization_members,
    group: 'Organization',
    load: () => import('../screens/members/members'),
  },
  {
    path: '/o/:organization/invitations',
    title: 'Invitations',
    access: operations.list_invitations,
    group: 'Organization',
    load: () => import('../screens/invitations/invitations'),
  },
];
