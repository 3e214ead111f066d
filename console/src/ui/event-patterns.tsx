/** Patterns of event types, such as `page.*`. */

const SHOWN = 3;

/** Show patterns: the first ones in a table, or all. */
export function EventPatterns({ patterns, isShort = false }: { patterns: readonly string[]; isShort?: boolean }) {
  if (patterns.includes('*')) return <>All events</>;
  const shown = isShort ? patterns.slice(0, SHOWN) : patterns;
  return (
    <span class="patterns">
      {shown.map((each) => (
        <code key={each}>{each}</code>
      ))}
      {patterns.length > shown.length && <span class="muted">and {patterns.length - shown.length} more</span>}
    </span>
  );
}
