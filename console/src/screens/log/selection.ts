/** The entries that the address selects. */

import { useParameter } from '../../ui/address';

export interface Selection {
  type?: string;
  actorId?: string;
  targetId?: string;
  from?: string;
  to?: string;
}

/** Return the filters in the address. */
export function useSelection(): Selection {
  const [type] = useParameter('type');
  const [actorId] = useParameter('actorId');
  const [targetId] = useParameter('targetId');
  const [from] = useParameter('from');
  const [to] = useParameter('to');
  return {
    ...(type && { type }),
    ...(actorId && { actorId }),
    ...(targetId && { targetId }),
    ...(from && { from }),
    ...(to && { to }),
  };
}
