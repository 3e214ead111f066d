/** A tree, as nested lists. A button opens and closes each branch, so it needs no keys of its own. */

import type { ComponentChildren } from 'preact';

interface TreeItemProps {
  /** What the item is called, for the button that opens it. */
  name: string;
  isOpen: boolean;
  /** Absent for an item with nothing below it. */
  onToggle?: (() => void) | undefined;
  /** The item itself. */
  row: ComponentChildren;
  /** The items below it, once it is open. */
  children?: ComponentChildren;
}

/** A level of a tree. Its children are `TreeItem`s. */
export function TreeLevel({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <ul class="tree" aria-label={label}>
      {children}
    </ul>
  );
}

/** An item of a tree. */
export function TreeItem({ name, isOpen, onToggle, row, children }: TreeItemProps) {
  return (
    <li>
      <div class="tree-row">
        {onToggle ? (
          <button type="button" class="quiet disclosure" aria-expanded={isOpen} aria-label={`Below ${name}`} onClick={onToggle} />
        ) : (
          <span class="disclosure" />
        )}
        {row}
      </div>
      {isOpen && children}
    </li>
  );
}
