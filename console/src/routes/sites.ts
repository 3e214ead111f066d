/** The screens of sites: pages, revisions, menus and redirects. */

import { operations } from '../api/access';
import type { Route } from './route';

export const SITES_ROUTES: readonly Route[] = [
  {
    path: '/o/:organization/sites',
    title: 'Sites',
    access: operations.list_sites,
    group: 'Products',
    load: () => import('../screens/sites/sites'),
  },
  {
    path: '/s/:site',
    title: 'Overview',
    access: operations.get_site,
    group: 'Site',
    load: () => import('../screens/sites/site'),
  },
  {
    path: '/s/:site/pages',
    title: 'Pages',
    access: operations.list_pages,
    group: 'Site',
    load: () => import('../screens/pages/pages'),
  },
  {
    path: '/s/:site/pages/:page',
    title: 'Page',
    access: operations.get_page,
    load: () => import('../screens/pages/page-editor'),
  },
  {
    path: '/s/:site/pages/:page/revisions',
    title: 'Revisions',
    access: operations.list_page_revisions,
    load: () => import('../screens/pages/revisions'),
  },
  {
    path: '/s/:site/menus',
    title: 'Menus',
    access: operations.list_navigation_menus,
    group: 'Site',
    load: () => import('../screens/menus/menus'),
  },
  {
    path: '/s/:site/menus/:menu',
    title: 'Menu',
    access: operations.get_navigation_menu,
    load: () => import('../screens/menus/menu-editor'),
  },
  {
    path: '/s/:site/redirects',
    title: 'Redirects',
    access: operations.list_redirects,
    group: 'Site',
    load: () => import('../screens/redirects/redirects'),
  },
];
