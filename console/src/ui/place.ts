/** The place of the screen: an organization, a platform, a space or a site, and the roles of the user there. */

import { useParams } from 'wouter-preact';
import { can, includesRole, type Roles } from '../api/access';
import type { Answer, Role } from '../api/client';
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

/** Return the role that a read of it has found. Admins of a place are admins of those below, so nothing is read for them. */
function roleOf(roleAbove: Role | null, query: { data: Answer<{ role: Role }> | undefined }): Role | null {
  return includesRole(roleAbove, 'admin') ? 'admin' : (query.data?.data.role ?? null);
}

/** Return the roles of the user at the places of this screen, and the reads of those that do not follow from one above. */
function useReadRoles() {
  const organization = useOrganizationRole();
  const organizationId = useOrganizationId();
  const isUserKnown = useMe().data !== undefined;
  const platformId = usePlatformId();
  const ofPlatform = useRecord(['platforms', platformId, 'role'], (client, options) => client.platforms.getRole(platformId, options), {
    enabled: platformId !== '' && organizationId !== '' && isUserKnown && !includesRole(organization, 'admin'),
  });
  const platform = roleOf(organization, ofPlatform);
  const spaceId = useSpaceId();
  const ofSpace = useRecord(['spaces', spaceId, 'role'], (client, options) => client.spaces.getRole(spaceId, options), {
    enabled: spaceId !== '' && platform !== null && !includesRole(platform, 'admin'),
  });
  const roles: Roles = { organization, platform, space: roleOf(platform, ofSpace) };
  return { roles, reads: [ofPlatform, ofSpace] };
}

/** Return the roles of the user at the places of this screen. */
export function useRoles(): Roles {
  return useReadRoles().roles;
}

/** Return the reads that find the roles of the user. */
export function useRoleReads() {
  return useReadRoles().reads;
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
