/** Decides, from the access rules of the OpenAPI document, whether a role may call an operation. */

import type { Role } from './client';

export * as operations from './access.generated';

const ROLES: readonly Role[] = ['member', 'editor', 'admin', 'owner'];

/** The roles of a user at the places of a screen. Null: none, or not known yet. */
export interface Roles {
  organization: Role | null;
  platform: Role | null;
  space: Role | null;
}

/** The parts of a rule such as `published|platform:member`. The place and the role are undefined for `published`. */
function parseRule(rule: string): { name: string; role: Role | undefined }[] {
  return rule.split('|').map((part) => {
    const [name = '', role] = part.split(':');
    return { name, role: ROLES.find((each) => each === role) };
  });
}

/** Return the lowest role that an access rule accepts, or null if it does not depend on a role. */
export function requiredRoleOrNull(rule: string): Role | null {
  const found = parseRule(rule).flatMap(({ role }) => (role ? [ROLES.indexOf(role)] : []));
  return found.length ? (ROLES[Math.min(...found)] ?? null) : null;
}

/** Return whether a role includes another. */
export function includesRole(role: Role | null, required: Role): boolean {
  return role !== null && ROLES.indexOf(role) >= ROLES.indexOf(required);
}

/** Return whether a caller with these roles may call the operation with an access rule. */
export function can(rule: string, roles: Roles, isOperator = false): boolean {
  return parseRule(rule).some(({ name, role }) => {
    if (role) return includesRole(roles[name as keyof Roles], role);
    return name === 'operator' ? isOperator : ['public', 'principal', 'user'].includes(name);
  });
}

/** Return the roles that somebody with a role can give to others: at most their own, and never that of the owner. */
export function grantableRoles(role: Role | null): Role[] {
  return ROLES.filter((each) => each !== 'owner' && includesRole(role, each));
}
