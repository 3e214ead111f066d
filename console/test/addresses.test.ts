import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linkTo, parseFragment } from '../src/ui/address.ts';
import { formatTime } from '../src/ui/time-format.ts';

test('a link has the path and the parameters that are set', () => {
  assert.equal(linkTo('/o/1/invitations', { status: 'pending', email: null }), '#/o/1/invitations?status=pending');
});

test('a fragment has a path and parameters', () => {
  const { path, parameters } = parseFragment('#/o/1/members?dialog=role%3A7');
  assert.deepEqual([path, parameters.get('dialog')], ['/o/1/members', 'role:7']);
  assert.equal(parseFragment('').path, '/');
});

test('times are short, and in UTC unless the user chose otherwise', () => {
  assert.equal(formatTime('2026-11-29T23:05:59.000Z', 'utc'), '2026-11-29 23:05');
});
