/** The screens that administer an organization: API keys, domains, erasures and settings. */

import { operations } from '../api/access';
import type { Route } from './route';

export const SETTINGS_ROUTES: readonly Route[] = [
  {
    path: '/o/:organization/api-keys',
    title: 'API keys',
    access: operations.list_api_keys,
    group: 'Integrations',
    load: () => import('../screens/api-keys/api-keys'),
  },
  {
    path: '/o/:organization/domains',
    title: 'Domains',
    access: operations.list_domain_inventory,
    group: 'Products',
    load: () => import('../screens/domains/domains'),
  },
  {
    path: '/o/:organization/erasures',
    title: 'Erasures',
    access: operations.list_erasures,
    group: 'Organization',
    load: () => import('../screens/erasures/erasures'),
  },
  {
    path: '/o/:organization/settings',
    title: 'Settings',
    access: operations.get_organization,
    group: 'Organization',
    load: () => import('../screens/settings/settings'),
  },
];
