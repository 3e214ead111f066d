/** The scopes of API keys: three broad ones, and two for each area of the API. */

import type { ApiKeyCreate } from '../../api/client';

export type Scope = NonNullable<ApiKeyCreate['scopes']>[number];

/** The scopes that reach all areas. */
export const BROAD_SCOPES = [
  { value: '', label: 'None', hint: 'Only what you choose for single areas.' },
  { value: 'read', label: 'Read', hint: 'Reads what a member reads.' },
  { value: 'write', label: 'Write', hint: 'Acts as an editor.' },
  { value: 'admin', label: 'Admin', hint: 'Acts as an admin: also manages members, keys and webhooks.' },
];

export const AREAS = [
  'organizations',
  'members',
  'api-keys',
  'audit-log',
  'domains',
  'channels',
  'webhooks',
  'platforms',
  'spaces',
  'taxonomy',
  'research',
  'sites',
  'events',
  'log-streams',
] as const;

/** What a key may do in an area. */
export const LEVELS = ['none', 'read', 'write'] as const;
export type Level = (typeof LEVELS)[number];

const READ_ONLY_AREAS: readonly string[] = ['audit-log'];

/** Return whether an area has a scope for a level. */
export function hasLevel(area: string, level: Level): boolean {
  return level !== 'write' || !READ_ONLY_AREAS.includes(area);
}

/** Return the name of the form's field for an area. */
export function fieldOf(area: string): string {
  return `area-${area}`;
}

/** Return the scopes that a form grants. */
export function toScopes(values: Record<string, string>): Scope[] {
  const areas = AREAS.flatMap((area) => {
    const level = values[fieldOf(area)];
    return level === 'read' || level === 'write' ? [`${area}:${level}`] : [];
  });
  return [...(values.broad ? [values.broad] : []), ...areas] as Scope[];
}
