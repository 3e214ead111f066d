/** The shortcut that the frame shows, and how keys are written. */

export const SEARCH_KEYS = '$mod+k';

/** Return the keys as people know them, such as `⌘K` or `g then m`. */
export function describeKeys(keys: string): string {
  const modifier = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘' : 'Ctrl ';
  if (keys.startsWith('$mod+')) return modifier + keys.replace('$mod+', '').toUpperCase();
  return keys.replace(' ', ' then ');
}
