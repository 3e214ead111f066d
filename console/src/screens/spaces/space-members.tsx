/** The members of a space. */

import { operations } from '../../api/access';
import { usePlatformId, useSpaceId } from '../../ui/place';
import type { MemberGroup } from '../place-members/group';
import { MemberActions, MemberList } from '../place-members/member-list';
import { SpaceFrame, useSpace } from './space-frame';

/** The screen. */
export default function SpaceMembers() {
  const id = useSpaceId();
  const platformId = usePlatformId();
  const group: MemberGroup = {
    noun: 'space',
    name: useSpace().data?.data.name ?? '',
    key: ['spaces', id, 'members'],
    list: (client, query, options) => client.spaces.members.list(id, query, options),
    get: (client, userId, options) => client.spaces.members.get(id, userId, options),
    update: (client, userId, body, options) => client.spaces.members.update(id, userId, body, options),
    remove: (client, userId, options) => client.spaces.members.remove(id, userId, options),
    join: (client, options) => client.spaces.join(id, options),
    leave: (client, options) => client.spaces.leave(id, options),
    candidates: {
      key: ['platforms', platformId, 'members'],
      list: (client, query, options) => client.platforms.members.list(platformId, query, options),
      hint: 'Members of the platform.',
    },
    changeRule: operations.update_space_member,
    joinRule: operations.join_space,
    removal: 'They lose their role in the space, and see it only if it is open. Their membership of the platform stays.',
  };
  return (
    <SpaceFrame actions={<MemberActions group={group} />}>
      {({ visibility }) => (
        <MemberList
          group={group}
          empty={
            visibility === 'open'
              ? 'Every member of the platform takes part in this space. People who join it are listed here, and can get a role.'
              : 'Only admins of the platform see this space. People join it with a role that an admin gives.'
          }
        />
      )}
    </SpaceFrame>
  );
}
