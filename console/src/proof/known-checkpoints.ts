/** The last checkpoint of each log that this browser has proven. Every later log has to begin with it. */

const PREFIX = 'atrium.checkpoint.';

export interface KnownCheckpoint {
  /** The signed note. */
  note: string;
  /** When this browser proved it. */
  provenAt: string;
}

/** Return the last proven checkpoint of a log, or null. */
export function readKnownCheckpoint(origin: string): KnownCheckpoint | null {
  return JSON.parse(localStorage.getItem(PREFIX + origin) ?? 'null') as KnownCheckpoint | null;
}

/** Keep the checkpoint of a log that was proven. */
export function keepCheckpoint(origin: string, note: string): void {
  localStorage.setItem(PREFIX + origin, JSON.stringify({ note, provenAt: new Date().toISOString() } satisfies KnownCheckpoint));
}
