import assert from 'node:assert/strict';
import { test } from 'node:test';
import { can, grantableRoles, requiredRoleOrNull } from '../src/api/access.ts';
import type { Role } from '../src/api/client.ts';

const inOrganization = (organization: Role | null) => ({ organization, platform: null, space: null });

test('a role may call what it or a lower role may call', () => {
  assert.ok(can('organization:admin', inOrganization('owner')));
  assert.ok(can('organization:admin', inOrganization('admin')));
  assert.ok(!can('organization:admin', inOrganization('editor')));
  assert.ok(!can('organization:member', inOrganization(null)));
});

test('a role counts at its place only', () => {
  const roles = { organization: null, platform: 'editor', space: 'admin' } as const;
  assert.ok(can('platform:editor', roles));
  assert.ok(!can('platform:admin', roles));
  assert.ok(can('space:admin', roles));
  assert.ok(!can('organization:member', roles));
});

test('rules with alternatives open for each of them', () => {
  assert.ok(can('organization:owner|operator', inOrganization('owner')));
  assert.ok(can('organization:owner|operator', inOrganization(null), true));
  assert.ok(!can('organization:owner|operator', inOrganization('admin')));
  assert.ok(can('public', inOrganization(null)));
  assert.ok(can('user', inOrganization(null)));
});

test('the required role is the lowest one that a rule accepts', () => {
  assert.equal(requiredRoleOrNull('published|organization:member'), 'member');
  assert.equal(requiredRoleOrNull('principal'), null);
});

test('nobody gives a role above their own, or that of the owner', () => {
  assert.deepEqual(grantableRoles('owner'), ['member', 'editor', 'admin']);
  assert.deepEqual(grantableRoles('editor'), ['member', 'editor']);
  assert.deepEqual(grantableRoles(null), []);
});
