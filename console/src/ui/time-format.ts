/** Formats times. */

export type Zone = 'utc' | 'local';

/** Return the name of the browser's time zone, such as Europe/London. */
export function localZoneName(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Return a time as `2026-11-29 05:50`. */
export function formatTime(value: string, zone: Zone): string {
  const timeZone = zone === 'utc' ? 'UTC' : localZoneName();
  const options = { timeZone, hourCycle: 'h23', dateStyle: 'short', timeStyle: 'short' } as const;
  return new Intl.DateTimeFormat('sv-SE', options).format(new Date(value));
}

/** Return the time that somebody typed in a zone, such as `2026-11-29T05:50`, as RFC 3339, or null if it is none. */
export function parseTimeOrNull(text: string, zone: Zone): string | null {
  const time = new Date(zone === 'utc' ? `${text}Z` : text);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}

/** Return a time as the value of an input for a date and a time, such as `2026-11-29T05:50`. */
export function toInputTime(value: string, zone: Zone): string {
  return Number.isNaN(Date.parse(value)) ? '' : formatTime(value, zone).replace(' ', 'T');
}
