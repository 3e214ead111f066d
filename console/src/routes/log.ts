/** The screens of an organization's log: entries, exports and reconciliations. */

import { operations } from '../api/access';
import type { Route } from './route';

export const LOG_ROUTES: readonly Route[] = [
  {
    path: '/o/:organization/log',
    title: 'Log',
    access: operations.list_audit_log,
    group: 'Log',
    load: () => import('../screens/log/log'),
  },
  {
    path: '/o/:organization/log/:entry',
    title: 'Entry',
    access: operations.get_audit_entry,
    load: () => import('../screens/log/entry'),
  },
  {
    path: '/o/:organization/exports',
    title: 'Exports',
    access: operations.list_audit_exports,
    group: 'Log',
    load: () => import('../screens/exports/exports'),
  },
  {
    path: '/o/:organization/reconciliations',
    title: 'Reconciliations',
    access: operations.list_reconciliations,
    group: 'Log',
    load: () => import('../screens/reconciliations/reconciliations'),
  },
  {
    path: '/o/:organization/reconciliations/:reconciliation',
    title: 'Reconciliation',
    access: operations.get_reconciliation,
    load: () => import('../screens/reconciliations/reconciliation'),
  },
  {
    path: '/o/:organization/verification',
    title: 'Verify a file',
    access: operations.get_status,
    group: 'Log',
    load: () => import('../screens/verification/verification'),
  },
];
