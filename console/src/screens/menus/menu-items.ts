/** The items of a menu, and moves within them. An item is found by its path: its index on each level. */

import type { MenuItem } from '../../api/client';
import { moveItem } from '../pages/blocks';

export const MAX_LEVELS = 3;

export type Path = readonly number[];
export type Move = 'up' | 'down' | 'in' | 'out';

type Items = readonly MenuItem[];

/** Create an item that leads to a page, which has to be chosen. */
export function createItem(): MenuItem {
  return { id: crypto.randomUUID(), label: '', type: 'page', pageId: null, url: null, path: null, dangling: false, children: [] };
}

/** Return the items with another level below the item at a path. An empty path is the first level. */
export function changeLevel(items: Items, path: Path, change: (level: Items) => Items): MenuItem[] {
  const [index, ...rest] = path;
  if (index === undefined) return [...change(items)];
  return items.map((item, at) => (at === index ? { ...item, children: changeLevel(item.children, rest, change) } : item));
}

/** Return the level on which an item is. */
function levelOf(items: Items, parent: Path): Items {
  return parent.reduce<Items>((level, index) => level[index]?.children ?? [], items);
}

/** Return how many levels an item and the items below it take. */
function heightOf(item: MenuItem): number {
  return 1 + Math.max(0, ...item.children.map(heightOf));
}

function split(path: Path): { parent: Path; index: number } {
  return { parent: path.slice(0, -1), index: path.at(-1) ?? 0 };
}

/** Return whether the item at a path can be moved. */
export function canMove(items: Items, path: Path, move: Move): boolean {
  const { parent, index } = split(path);
  const level = levelOf(items, parent);
  const item = level[index];
  if (!item) return false;
  if (move === 'up') return index > 0;
  if (move === 'down') return index < level.length - 1;
  return move === 'out' ? parent.length > 0 : index > 0 && path.length + heightOf(item) <= MAX_LEVELS;
}

/** Return the items after a move: among its siblings, below the item before it, or beside the item above it. */
export function moveMenuItem(items: Items, path: Path, move: Move): MenuItem[] {
  const { parent, index } = split(path);
  const item = levelOf(items, parent)[index];
  if (!item || !canMove(items, path, move)) return [...items];
  if (move === 'up' || move === 'down') {
    return changeLevel(items, parent, (level) => moveItem(level, index, index + (move === 'up' ? -1 : 1)));
  }
  const without = removeItem(items, path);
  if (move === 'in') return changeLevel(without, [...parent, index - 1], (level) => [...level, item]);
  const above = split(parent);
  return changeLevel(without, above.parent, (level) => [...level.slice(0, above.index + 1), item, ...level.slice(above.index + 1)]);
}

/** Return the items without one and those below it. */
export function removeItem(items: Items, path: Path): MenuItem[] {
  const { parent, index } = split(path);
  return changeLevel(items, parent, (level) => level.filter((_, at) => at !== index));
}

/** Return items as text, for comparisons. */
export function formatItems(items: Items, indent = ''): string {
  return items
    .map((item) => {
      const target = item.pageId ? `page ${item.path ?? item.pageId}` : (item.url ?? 'group');
      return `${indent}${item.label} (${target})\n${formatItems(item.children, `${indent}  `)}`;
    })
    .join('');
}
