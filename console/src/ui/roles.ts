/** What the roles of an organization allow, for people. */

import { grantableRoles } from '../api/access';
import type { Role } from '../api/client';
import type { Choice } from './form';
import { toWords } from './status';

const DESCRIPTIONS: Record<Role, string> = {
  member: 'Reads sites, platforms and members.',
  editor: 'Also edits and publishes pages.',
  admin: 'Also manages members, keys, webhooks and the log.',
  owner: 'Also deletes the organization and passes it on.',
};

/** Return the choices of a role dialog: the roles that somebody with a role can give. */
export function roleChoices(role: Role | null): Choice[] {
  return grantableRoles(role).map((each) => ({ value: each, label: toWords(each), hint: DESCRIPTIONS[each] }));
}

const PLACE_DESCRIPTIONS: Record<Exclude<Role, 'owner'>, string> = {
  member: 'Takes part.',
  editor: 'Also changes content.',
  admin: 'Also manages members and settings.',
};

/** Return the choices of a role dialog of a platform or a space. */
export function placeRoleChoices(role: Role | null): Choice[] {
  const granted = grantableRoles(role).filter((each) => each !== 'owner');
  return granted.map((each) => ({ value: each, label: toWords(each), hint: PLACE_DESCRIPTIONS[each] }));
}
