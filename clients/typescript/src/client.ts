/** The client: methods for all operations, in groups of resources. */

import { OPERATIONS } from './generated/operations.ts';
import type { Resources } from './generated/resources.ts';
import { createResources } from './groups.ts';
import type { AtriumSettings } from './options.ts';

/**
 * A client of the API.
 *
 * Methods have the values of the path, then the body or the query, then options:
 * `client.organizations.members.update(organizationId, userId, { role: 'editor' }, { ifMatch: etag })`.
 */
export interface Atrium extends Resources {}

export class Atrium {
  constructor(settings: AtriumSettings) {
    Object.assign(this, createResources<Resources>(OPERATIONS, settings));
  }
}
