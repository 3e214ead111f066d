/** A client with all operations at once. */

import { Atrium, type AtriumSettings } from 'atrium-client';
import type { Client } from './client';
import { completeSettings } from './transport';

/** Create a client. */
export function createClient(settings: AtriumSettings): Client {
  return new Atrium(completeSettings(settings));
}
