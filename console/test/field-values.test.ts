/** Fields of records as the values of forms. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { areComplete, changedFieldsOfForm, toMergePatch, toValues } from '../src/ui/field-values.ts';

test('an edit contains the changed fields, and empty text is null', () => {
  const original = { name: 'Ada', description: 'x', position: 3, settings: { a: 1 }, parentId: null };
  const values = toValues(original);
  assert.deepEqual(changedFieldsOfForm(values, original), {});
  const edited = { ...values, description: '', position: '4', settings: '{"a": 2}', parentId: 'p' };
  assert.deepEqual(changedFieldsOfForm(edited, original), { description: null, position: 4, settings: { a: 2 }, parentId: 'p' });
  assert.deepEqual(changedFieldsOfForm({ ...values, settings: '{"a":' }, original), {});
});

test('a number is read as people write it, and the form is not complete while it is none', () => {
  const original = { position: 3, weight: 1 };
  assert.deepEqual(changedFieldsOfForm({ position: '05', weight: '.5' }, original), { position: 5, weight: 0.5 });
  assert.deepEqual(changedFieldsOfForm({ position: '', weight: '1.0' }, original), { position: null });
  assert.ok(areComplete({ position: '05', weight: '.5' }, original));
  assert.ok(!areComplete({ position: '5', weight: '-' }, original));
  assert.deepEqual(changedFieldsOfForm({ position: '4', weight: '-' }, original), { position: 4 });
});

test('a list is not complete until it is one', () => {
  const original = { blocks: [1] };
  assert.deepEqual(changedFieldsOfForm({ blocks: '[1, 2]' }, original), { blocks: [1, 2] });
  for (const text of ['', '[1,', '{}']) {
    assert.ok(!areComplete({ blocks: text }, original));
    assert.deepEqual(changedFieldsOfForm({ blocks: text }, original), {});
  }
});

test('a merge patch removes what is gone, and keeps what somebody else added', () => {
  const patch = toMergePatch({ a: 1, b: { c: 1, d: 2 } }, { b: { c: 1, d: 3 }, e: [1] });
  assert.deepEqual(patch, { a: null, b: { d: 3 }, e: [1] });
});
