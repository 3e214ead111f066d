/** A figure or fact of a summary. Tiles are the items of `<dl class="tiles">`. */

import type { ComponentChildren } from 'preact';

interface TileProps {
  label: ComponentChildren;
  children: ComponentChildren;
  /** What the figure means, or what to do about it. */
  note?: ComponentChildren;
}

/** Show a figure or fact. */
export function Tile({ label, children, note }: TileProps) {
  return (
    <div class="tile">
      <dt>{label}</dt>
      <dd class="value">{children}</dd>
      {note && <dd class="note">{note}</dd>}
    </div>
  );
}
