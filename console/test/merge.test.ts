import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findConflicts, mergeChanges } from '../src/ui/merge.ts';

const base = { name: 'Old', slug: 'old', tags: ['a'] };

test('a field that only one of both changed is no conflict', () => {
  assert.deepEqual(findConflicts(base, { name: 'Mine', slug: 'old' }, { ...base, slug: 'theirs' }), []);
});

test('a field that both changed alike is no conflict, and is not sent', () => {
  const theirs = { ...base, tags: ['b'] };
  assert.deepEqual(findConflicts(base, { tags: ['b'] }, theirs), []);
  assert.deepEqual(mergeChanges({ tags: ['b'] }, theirs, base, new Set()), {});
});

test('a field that both changed differently has three values', () => {
  const [conflict, ...others] = findConflicts(base, { name: 'Mine' }, { ...base, name: 'Theirs' });
  assert.deepEqual(conflict, { name: 'name', base: 'Old', yours: 'Mine', theirs: 'Theirs' });
  assert.deepEqual(others, []);
});

test('fields for which theirs was chosen are not sent', () => {
  const yours = { name: 'Mine', slug: 'mine' };
  assert.deepEqual(mergeChanges(yours, { ...base, name: 'Theirs' }, base, new Set(['name'])), { slug: 'mine' });
});

test('fields that the user did not change never overwrite theirs', () => {
  assert.deepEqual(mergeChanges({ name: 'Old', slug: 'mine' }, { ...base, name: 'Theirs' }, base, new Set()), { slug: 'mine' });
});
