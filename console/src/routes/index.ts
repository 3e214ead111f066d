/** The screens of the console. A screen is loaded when it is opened. */

import { LOG_ROUTES } from './log';
import { OPERATIONS_ROUTES } from './operations';
import { ORGANIZATION_ROUTES } from './organization';
import { PLATFORMS_ROUTES } from './platforms';
import type { Route } from './route';
import { SETTINGS_ROUTES } from './settings';
import { SITES_ROUTES } from './sites';
import { WEBHOOK_ROUTES } from './webhooks';

export { GROUPS, type Route } from './route';

export const ROUTES: readonly Route[] = [
  ...ORGANIZATION_ROUTES,
  ...LOG_ROUTES,
  ...WEBHOOK_ROUTES,
  ...SETTINGS_ROUTES,
  ...PLATFORMS_ROUTES,
  ...SITES_ROUTES,
  ...OPERATIONS_ROUTES,
];
