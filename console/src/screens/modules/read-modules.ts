/** Reads all modules of a platform with its version, so that an edit of them notices other changes. */

import type { Client, UpdatedModuleListItem } from '../../api/client';
import { readAll } from '../../api/lists';

export type Module = UpdatedModuleListItem;

export interface Modules {
  modules: Module[];
}

/** Read the modules. The platform is read first, so that a change in between is a conflict, and not lost. */
export function readModules(client: Client, platformId: string) {
  return {
    withResponse: async () => {
      const platform = await client.platforms.get(platformId).withResponse();
      const modules = await readAll(client.platforms.modules.list(platformId));
      return { ...platform, data: { modules } as Modules };
    },
  };
}
