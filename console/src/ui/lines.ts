/** Lists of short texts, which people enter one a line. */

/** Return the lines of a text that are not empty, or null if there are none. */
export function toLines(text: string | undefined): string[] | null {
  const lines = (text ?? '').split('\n').map((line) => line.trim());
  const found = lines.filter(Boolean);
  return found.length > 0 ? found : null;
}
