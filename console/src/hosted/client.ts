/** The client of hosted pages. It has only the operations that they call, because the table of all is large. */

import { createResources, type OperationTable } from 'atrium-client';
import type { AtriumSettings, Client } from '../api/client';
import { completeSettings } from '../api/transport';

const WEBHOOK = '/organizations/{organization_id}/webhooks/{webhook_id}';

/** A part of the table of the client, with the same lines. */
export const HOSTED_OPERATIONS = {
  organizations: {
    invitations: {
      describe: 'GET /organizations/invitations/acceptance query',
      respond: 'POST /organizations/invitations/acceptance body',
    },
    webhooks: {
      get: `GET ${WEBHOOK}`,
      test: `POST ${WEBHOOK}/test`,
      rotateSecret: `POST ${WEBHOOK}/rotate-secret body`,
      getStatistics: `GET ${WEBHOOK}/statistics`,
      deliveries: {
        list: `GET ${WEBHOOK}/deliveries page`,
        get: `GET ${WEBHOOK}/deliveries/{delivery_id}`,
        retry: `POST ${WEBHOOK}/deliveries/{delivery_id}/retry`,
      },
    },
  },
  platforms: {
    customDomain: {
      get: 'GET /platforms/{platform_id}/custom-domain',
      verify: 'POST /platforms/{platform_id}/custom-domain/verify',
    },
  },
  signedLink: { get: 'GET /signed-link' },
} satisfies OperationTable;

/** The part of the client's groups that a table names. */
type PartOf<Group, Table> = {
  [Name in keyof Table & keyof Group]: Table[Name] extends string ? Group[Name] : PartOf<Group[Name], Table[Name]>;
};

export type HostedClient = PartOf<Client, typeof HOSTED_OPERATIONS>;

/** Create the client of a hosted page. */
export function createHostedClient(settings: AtriumSettings): HostedClient {
  return createResources<HostedClient>(HOSTED_OPERATIONS, completeSettings(settings));
}
