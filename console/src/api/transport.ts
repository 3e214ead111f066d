/** How all clients of the console send requests. */

import type { AtriumSettings } from 'atrium-client';

/** How often a POST is repeated. Reads are repeated by the cache of records instead, and other changes are not. */
export const MAX_POST_RETRIES = 2;

/**
 * Return the settings of a client.
 *
 * The interface counts down the time that the service asks to wait, so the client does not wait by itself.
 */
export function completeSettings(settings: AtriumSettings): AtriumSettings {
  return { maxRetries: 0, maxRetryAfterSeconds: 0, fetch: fetchIfChanged, ...settings };
}

/** Send a request. The browser asks whether what it has is still current, so a poll without news has an empty answer. */
function fetchIfChanged(request: Request): Promise<Response> {
  return fetch(request, { cache: 'no-cache' });
}
