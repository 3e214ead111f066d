/** The screens of platforms and their spaces. */

import { operations } from '../api/access';
import type { Route } from './route';

export const PLATFORMS_ROUTES: readonly Route[] = [
  {
    path: '/o/:organization/platforms',
    title: 'Platforms',
    access: operations.list_platforms,
    group: 'Products',
    load: () => import('../screens/platforms/platforms'),
  },
  {
    path: '/p/:platform',
    title: 'Overview',
    access: operations.get_platform,
    group: 'Platform',
    load: () => import('../screens/platforms/platform'),
  },
  {
    path: '/p/:platform/theme',
    title: 'Theme',
    access: operations.get_platform,
    group: 'Platform',
    load: () => import('../screens/theme/theme'),
  },
  {
    path: '/p/:platform/navigation',
    title: 'Navigation',
    access: operations.get_platform,
    group: 'Platform',
    load: () => import('../screens/navigation/navigation'),
  },
  {
    path: '/p/:platform/home',
    title: 'Home page',
    access: operations.get_platform,
    group: 'Platform',
    load: () => import('../screens/home/home'),
  },
  {
    path: '/p/:platform/modules',
    title: 'Modules',
    access: operations.list_platform_modules,
    group: 'Platform',
    load: () => import('../screens/modules/modules'),
  },
  {
    path: '/p/:platform/project-blocks',
    title: 'Project blocks',
    access: operations.list_project_blocks,
    group: 'Platform',
    load: () => import('../screens/project-blocks/project-blocks'),
  },
  {
    path: '/p/:platform/domain',
    title: 'Domain',
    access: operations.get_custom_domain,
    group: 'Platform',
    load: () => import('../screens/custom-domain/custom-domain'),
  },
  {
    path: '/p/:platform/members',
    title: 'Members',
    access: operations.list_platform_members,
    group: 'Platform',
    load: () => import('../screens/platform-members/platform-members'),
  },
  {
    path: '/p/:platform/spaces',
    title: 'Spaces',
    access: operations.list_platform_spaces,
    group: 'Platform',
    load: () => import('../screens/spaces/spaces'),
  },
  {
    path: '/p/:platform/spaces/:space',
    title: 'Space',
    access: operations.get_space,
    load: () => import('../screens/spaces/space'),
  },
  {
    path: '/p/:platform/spaces/:space/members',
    title: 'Members of the space',
    access: operations.list_space_members,
    load: () => import('../screens/spaces/space-members'),
  },
  {
    path: '/p/:platform/spaces/:space/modules',
    title: 'Modules of the space',
    access: operations.list_effective_modules,
    load: () => import('../screens/spaces/space-modules'),
  },
  {
    path: '/p/:platform/spaces/:space/capabilities',
    title: 'Capabilities of the space',
    access: operations.list_space_capabilities,
    load: () => import('../screens/spaces/space-capabilities'),
  },
  {
    path: '/p/:platform/taxonomy',
    title: 'Taxonomy',
    access: operations.get_taxonomy_tree,
    group: 'Platform',
    load: () => import('../screens/taxonomy/taxonomy'),
  },
];
