/** The members of a platform or a space: the calls that differ, and the words. */

import type { Call, ChangeOptions, Client, CreateOptions, ListPage, Member, ReadOptions } from '../../api/client';
import type { QueryKey } from '../../api/queries';

export interface MemberGroup {
  /** What people are members of. */
  noun: 'platform' | 'space';
  /** The name of the platform or space. */
  name: string;
  key: QueryKey;
  list: (client: Client, query: { cursor: string | undefined }, options?: ReadOptions) => Call<ListPage<Member>>;
  get: (client: Client, userId: string, options?: ReadOptions) => Call<Member>;
  update: (client: Client, userId: string, body: { role?: 'member'; username?: string | null }, options?: ChangeOptions) => Call<Member>;
  remove: (client: Client, userId: string, options?: ChangeOptions) => Call<void>;
  join: (client: Client, options?: CreateOptions) => Call<Member>;
  leave: (client: Client, options?: CreateOptions) => Call<void>;
  /** People who can be made members without an invitation: those around the platform or space. */
  candidates: { key: QueryKey; list: MemberGroup['list']; hint: string };
  /** The access rules of changing and of joining. */
  changeRule: string;
  joinRule: string;
  /** What a removed person loses. */
  removal: string;
}
