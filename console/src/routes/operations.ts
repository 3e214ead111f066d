/** The screens of operators, and the data that belong to no organization: research and reference data. */

import { operations } from '../api/access';
import type { Route } from './route';

export const OPERATIONS_ROUTES: readonly Route[] = [
  {
    path: '/operate',
    title: 'Status',
    access: operations.get_migrations_status,
    group: 'Operations',
    load: () => import('../screens/service-status/service-status'),
  },
  {
    path: '/operate/leads',
    title: 'Leads',
    access: operations.list_marketing_leads,
    group: 'Operations',
    load: () => import('../screens/leads/leads'),
  },
  {
    path: '/operate/organizations',
    title: 'Organizations',
    access: operations.search_organizations,
    group: 'Operations',
    load: () => import('../screens/organization-search/organization-search'),
  },
  {
    path: '/operate/service-keys',
    title: 'Service keys',
    access: operations.list_service_keys,
    group: 'Operations',
    load: () => import('../screens/service-keys/service-keys'),
  },
  {
    path: '/operate/audit-log',
    title: 'System log',
    access: operations.list_system_audit_log,
    group: 'Operations',
    load: () => import('../screens/system-log/system-log'),
  },
  {
    path: '/operate/log-verifications',
    title: 'Log verifications',
    access: operations.list_log_verifications,
    group: 'Operations',
    load: () => import('../screens/log-verifications/log-verifications'),
  },
  {
    path: '/operate/dead-letters',
    title: 'Dead letters',
    access: operations.list_dead_letters,
    group: 'Operations',
    load: () => import('../screens/dead-letters/dead-letters'),
  },
  {
    path: '/operate/migrations',
    title: 'Migrations',
    access: operations.get_migrations_status,
    group: 'Operations',
    load: () => import('../screens/migrations/migrations'),
  },
  {
    path: '/operate/backfill',
    title: 'Backfill',
    access: operations.backfill_venue_edition,
    group: 'Operations',
    load: () => import('../screens/backfill/backfill'),
  },
  {
    path: '/research',
    title: 'Research',
    access: operations.list_outputs,
    group: 'Data',
    load: () => import('../screens/research/works'),
  },
  {
    path: '/research/works/:work',
    title: 'Work',
    access: operations.get_output,
    load: () => import('../screens/research/work-details'),
  },
  {
    path: '/research/artefacts',
    title: 'Artefacts',
    access: operations.list_artefacts,
    load: () => import('../screens/research/artefacts'),
  },
  {
    path: '/research/jobs',
    title: 'Jobs',
    access: operations.list_research_jobs,
    load: () => import('../screens/research/research-jobs'),
  },
  {
    path: '/research/venues',
    title: 'Venues',
    access: operations.list_venues,
    load: () => import('../screens/research/venues'),
  },
  {
    path: '/reference',
    title: 'Reference data',
    access: operations.list_countries,
    group: 'Data',
    load: () => import('../screens/reference/reference'),
  },
];
