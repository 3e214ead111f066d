/** Notices about roles that are not enough. */

import { requiredRoleOrNull } from '../api/access';
import { useRecord } from '../api/queries';
import { useCan, useMe, useOrganization, useOrganizationId, useRole } from './place';

/** Say which role an operation needs, and who has it. Shows nothing if the user has it. */
export function RoleNotice({ rule, children }: { rule: string; children: string }) {
  const isAllowed = useCan(rule);
  const isKnown = useRole() !== null;
  const isUserKnown = useMe().data !== undefined;
  const role = requiredRoleOrNull(rule);
  if (isAllowed || !(role === null ? isUserKnown : isKnown)) return null;
  return (
    <p class="notice">
      {children} {role === null ? 'Needs an operator of the service.' : <>Needs {role}; ask <OwnerName />.</>}
    </p>
  );
}

function OwnerName() {
  const id = useOrganizationId();
  const ownerId = useOrganization().data?.data.ownerId;
  const owner = useRecord(
    ['organizations', id, 'members', ownerId],
    (client, options) => client.organizations.members.get(id, ownerId ?? '', options),
    { enabled: ownerId !== undefined },
  );
  return <>{owner.data?.data.name ?? 'the owner'}</>;
}
