/** Comparisons of revisions, and moves of the items of menus. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Block, MenuItem } from '../src/api/client';
import { canMove, moveMenuItem, removeItem } from '../src/screens/menus/menu-items';
import { compareBlocks } from '../src/screens/pages/compare';

const text = (id: string, words = id): Block => ({ id, type: 'text', text: words });
const columns = (...lists: Block[][]): Block => ({ id: 'columns', type: 'columns', columns: lists }) as Block;
const kinds = (older: Block[], newer: Block[]) =>
  compareBlocks(older, newer).map(({ block, column, kind }) => `${column === null ? block.id : `column ${column}`} ${kind}`);

test('blocks are added, removed, moved and the same', () => {
  assert.deepEqual(kinds([text('a'), text('b'), text('c'), text('e')], [text('c'), text('a'), text('e'), text('d')]), [
    'b removed',
    'c same',
    'a moved',
    'e same',
    'd added',
  ]);
});

test('the words of a text are compared', () => {
  const [change] = compareBlocks([text('a', 'one two three')], [text('a', 'one four three')]);
  assert.equal(change?.kind, 'changed');
  const parts = change?.fields[0]?.parts.map(({ kind, text: words }) => `${kind}:${words}`);
  assert.deepEqual(parts, ['same:one ', 'removed:two', 'added:four', 'same: three']);
});

test('a block that moves to another column is moved, and a new column is added', () => {
  const changed = kinds([columns([text('a'), text('b')], [])], [columns([text('a')], [text('b')], [])]);
  assert.ok(changed.includes('b moved') || changed.includes('column 2 moved'), String(changed));
  assert.ok(changed.includes('column 3 added'));
});

const item = (id: string, ...children: MenuItem[]): MenuItem => ({
  ...{ id, label: id, type: 'group', pageId: null, url: null, path: null, dangling: false },
  children,
});
const show = (items: readonly MenuItem[]): string => items.map((each) => each.id + (each.children.length ? `(${show(each.children)})` : '')).join(' ');

test('items of a menu move among their siblings, in and out', () => {
  const items = [item('a', item('b')), item('c'), item('d')];
  assert.equal(show(moveMenuItem(items, [2], 'up')), 'a(b) d c');
  assert.equal(show(moveMenuItem(items, [0], 'down')), 'c a(b) d');
  assert.equal(show(moveMenuItem(items, [1], 'in')), 'a(b c) d');
  assert.equal(show(moveMenuItem(items, [0, 0], 'out')), 'a b c d');
  assert.equal(show(removeItem(items, [0])), 'c d');
});

test('a menu has at most three levels', () => {
  const items = [item('a', item('b', item('c'), item('d'))), item('e', item('f', item('g')))];
  assert.equal(canMove(items, [0, 0, 1], 'in'), false);
  assert.equal(canMove(items, [1], 'in'), false);
  assert.equal(show(moveMenuItem(items, [1], 'in')), show(items));
});
