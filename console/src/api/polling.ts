/** How often something is read again that changes without the user. */

const MIN_POLL_MS = 5_000;
const MAX_POLL_MS = 60_000;

/** Return the time until the next poll: short after a change, then twice as long each time. */
export function nextPollMs(previousMs: number | null, hasChanged: boolean): number {
  return previousMs === null || hasChanged ? MIN_POLL_MS : Math.min(previousMs * 2, MAX_POLL_MS);
}
