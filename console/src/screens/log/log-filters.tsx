/** The filters of the log: each type that is logged, who acted, what it is about, and when. */

import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import type { AuditEntry, EventType } from '../../api/client';
import { useEnvironment } from '../../api/context';
import { useList } from '../../api/queries';
import { useOrganizationId } from '../../ui/place';
import { SuggestFilter, type Suggestion } from '../../ui/suggest-filter';
import { TimeFilter } from '../../ui/time-filter';
import { nameActor, nameTarget } from './names';
import { useSelection } from './selection';

const MAX_LIMIT = 100;

/** The filters. `entries` are those on the screen, which name the chosen actor and target. */
export function LogFilters({ entries }: { entries: readonly AuditEntry[] }) {
  const { actorId, targetId } = useSelection();
  const [isTypeUsed, setTypeUsed] = useState(false);
  const [isActorUsed, setActorUsed] = useState(false);
  const actor = entries.find((each) => each.actor?.id === actorId);
  const target = entries.find((each) => each.target?.id === targetId);
  return (
    <div class="filters">
      <SuggestFilter
        parameter="type"
        label="Event type"
        placeholder="All types"
        suggestions={useTypes(isTypeUsed)}
        onFocus={() => setTypeUsed(true)}
      />
      <SuggestFilter
        parameter="actorId"
        label="Actor"
        placeholder="Name or id"
        suggestions={useActors(isActorUsed)}
        onFocus={() => setActorUsed(true)}
        valueLabel={actor && nameActor(actor)}
      />
      <SuggestFilter parameter="targetId" label="Target" placeholder="Id of a record" valueLabel={target && nameTarget(target)} />
      <TimeFilter parameter="from" label="From" />
      <TimeFilter parameter="to" label="Until" />
    </div>
  );
}

/** Return all types that are logged, and their common beginnings such as `organization.member.*`. */
function useTypes(isEnabled: boolean): Suggestion[] {
  const { client } = useEnvironment();
  const types = useQuery({
    queryKey: ['event-types', 'all'],
    queryFn: async ({ signal }) => {
      const found: EventType[] = [];
      for await (const each of client.eventTypes.list({ limit: MAX_LIMIT }, { signal })) found.push(each);
      return found;
    },
    enabled: isEnabled,
    staleTime: Infinity,
  });
  const names = types.data?.map((each) => each.type) ?? [];
  const groups = names.flatMap((name) => {
    const parts = name.split('.');
    return parts.slice(1).map((_, index) => `${parts.slice(0, index + 1).join('.')}.*`);
  });
  return [...new Set([...names, ...groups])].sort().map((value) => ({ value, label: value }));
}

function useActors(isEnabled: boolean): Suggestion[] {
  const organizationId = useOrganizationId();
  const members = useList(
    ['organizations', organizationId, 'members', 'actors'],
    (client, page, options) => client.organizations.members.list(organizationId, { ...page, limit: MAX_LIMIT }, options),
    { enabled: isEnabled },
  );
  return members.items.map((each) => ({ value: each.userId, label: each.name ?? each.username ?? each.userId }));
}
