/** The place of the screen: an organization, a platform, a space or a site, and the roles of the user there. */

import { useParams } from 'wouter-preact';
import { can, includesRole, type Roles } from '../api/access';
import type { Role } from '../api/client';
import { useRecord } from '../api/queries';

/** Read the user. The answer is cached. */
export function useMe() {
  return useRecord(['me'], (client, options) => client.me.get(options));
}

interface PlaceParameters {
  organization?: string;
  platform?: string;
  space?: string;
  site?: string;
}

/** Return the id in the address of the platform of this screen. */
export function usePlatformId(): string {
  return useParams<PlaceParameters>().platform ?? '';
}

/** Return the id in the address of the space of this screen. */
export function useSpaceId(): string {
  return useParams<PlaceParameters>().space ?? '';
}

/** Return the id in the address of the site of this screen. */
export function useSiteId(): string {
  return useParams<PlaceParameters>().site ?? '';
}

/** Read a platform: by default that of this screen, if there is one. */
export function usePlatform(id = usePlatformId()) {
  return useRecord(['platforms', id], (client, options) => client.platforms.get(id, options), { enabled: id !== '' });
}

/** Read a site: by default that of this screen, if there is one. */
export function useSite(id = useSiteId()) {
  return useRecord(['sites', id], (client, options) => client.sites.get(id, options), { enabled: id !== '' });
}

/** Return the id of the organization of this screen: that in the address, or that of the platform or site there. */
export function useOrganizationId(): string {
  const { organization } = useParams<PlaceParameters>();
  const platform = usePlatform().data?.data.organizationId;
  const site = useSite().data?.data.organizationId;
  return organization ?? platform ?? site ?? '';
}

/** Read the organization of this screen. */
export function useOrganization() {
  const id = useOrganizationId();
  const isMember = useOrganizationRole() !== null;
  const isInAddress = useParams<PlaceParameters>().organization !== undefined;
  return useRecord(['organizations', id], (client, options) => client.organizations.get(id, options), {
    // Members of a platform need not be members of its organization.
    enabled: id !== '' && (isInAddress || isMember),
  });
}

/** Return the role of the user in the organization of this screen, or null while it loads and if they have none. */
export function useOrganizationRole(): Role | null {
  const id = useOrganizationId();
  const me = useMe().data?.data;
  const listed = me?.organizations.find((each) => each.id === id)?.role ?? null;
  // The list of the user's organizations has an end. The membership tells the role in the others.
  const isMissing = id !== '' && me !== undefined && listed === null && me.hasMoreOrganizations;
  const member = useRecord(
    ['organizations', id, 'members', me?.id],
    (client, options) => client.organizations.members.get(id, me?.id ?? '', options),
    { enabled: isMissing },
  );
  return listed ?? member.data?.data.role ?? null;
}

/** Return the role of the user on the platform of this screen. Admins of the organization act as admins on it. */
function usePlatformRole(organizationRole: Role | null): Role | null {
  const id = usePlatformId();
  const isAdmin = includesRole(organizationRole, 'admin');
  const isOrganizationKnown = useOrganizationId() !== '';
  const userId = useMe().data?.data.id;
  const member = useRecord(
    ['platforms', id, 'members', 'by-user', userId],
    (client, options) => client.platforms.members.getByUser(id, userId ?? '', options),
    { enabled: id !== '' && isOrganizationKnown && !isAdmin && userId !== undefined, retryOnMount: false },
  );
  // Members of the organization take part in its platforms without a membership of their own.
  const ofOthers = member.isError && organizationRole !== null ? 'member' : null;
  return isAdmin ? 'admin' : (member.data?.data.role ?? ofOthers);
}

/** Return the role of the user in the space of this screen. Admins of the platform act as admins in it. */
function useSpaceRole(platformRole: Role | null): Role | null {
  const id = useSpaceId();
  const isAdmin = includesRole(platformRole, 'admin');
  const isOrganizationKnown = useOrganizationId() !== '';
  const userId = useMe().data?.data.id;
  const member = useRecord(
    ['spaces', id, 'members', userId],
    (client, options) => client.spaces.members.get(id, userId ?? '', options),
    { enabled: id !== '' && isOrganizationKnown && !isAdmin && userId !== undefined, retryOnMount: false },
  );
  // Those who take part in the platform take part in its open spaces.
  const ofOthers = member.isError && platformRole !== null ? 'member' : null;
  return isAdmin ? 'admin' : (member.data?.data.role ?? ofOthers);
}

/** Return the roles of the user at the places of this screen. */
export function useRoles(): Roles {
  const organization = useOrganizationRole();
  const platform = usePlatformRole(organization);
  const space = useSpaceRole(platform);
  return { organization, platform, space };
}

/** Return the role of the user at the innermost place of this screen, or null while it loads. */
export function useRole(): Role | null {
  const { platform, space } = useParams<PlaceParameters>();
  const roles = useRoles();
  return space ? roles.space : platform ? roles.platform : roles.organization;
}

/** Return whether the user may call the operation with an access rule at the place of this screen. */
export function useCan(rule: string): boolean {
  return can(rule, useRoles(), useMe().data?.data.isOperator);
}
