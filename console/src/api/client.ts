/** The client of the API: that of `clients/typescript`, with what the console adds to it. */

import { createResources, type Atrium, type AtriumSettings, type OperationTable } from 'atrium-client';
import { completeSettings } from './transport';

export type * from 'atrium-client';
export type Client = Atrium;
export { MAX_POST_RETRIES } from './transport';

/** What the frame and the first screen call: a part of the table of the client, with the same lines. */
export const FIRST_OPERATIONS = {
  me: {
    get: 'GET /me',
    invitations: { list: 'GET /me/invitations page', respond: 'POST /me/invitations/{invitation_id} body' },
  },
  organizations: {
    list: 'GET /organizations page',
    create: 'POST /organizations body',
    get: 'GET /organizations/{organization_id}',
    members: { get: 'GET /organizations/{organization_id}/members/{user_id}' },
  },
  platforms: { get: 'GET /platforms/{platform_id}', getRole: 'GET /platforms/{platform_id}/role' },
  sites: { get: 'GET /sites/{site_id}' },
  spaces: { getRole: 'GET /spaces/{space_id}/role' },
} satisfies OperationTable;

/** A client that has few operations until it is completed, because the table of all is large. */
export interface GrowingClient {
  client: Client;
  /** Add the other operations. Everything but the first screen waits for this. */
  complete: () => Promise<void>;
}

/** Create a client with the first operations. */
export function createGrowingClient(settings: AtriumSettings): GrowingClient {
  const completed = completeSettings(settings);
  const client = createResources<Client>(FIRST_OPERATIONS, completed);
  const addOthers = async () => {
    const { OPERATIONS } = await import('./all-operations');
    Object.assign(client, createResources<Client>(OPERATIONS, completed));
  };
  let added: Promise<void> | undefined;
  // After a failure of the network, the next screen tries again.
  const complete = () => (added ??= addOthers().catch((error: unknown) => ((added = undefined), Promise.reject(error))));
  return { client, complete };
}
