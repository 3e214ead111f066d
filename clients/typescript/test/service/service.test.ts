/** Uses the client against a running service with the sample company, which fails on request (`X-Fault`). */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Atrium, Conflict, Forbidden, InvalidRequest, NotFound, PreconditionFailed, Unauthenticated, ValidationFailed } from '../../src/index.ts';

function variable(name: string): string {
  const value = process.env[name];
  assert.ok(value, `${name} is missing.`);
  return value;
}

const baseUrl = variable('ATRIUM_URL');
const maud = new Atrium({ baseUrl, getToken: async () => variable('MAUD_TOKEN') });
const hattie = new Atrium({ baseUrl, token: variable('HATTIE_TOKEN') });
const { items: organizations } = await maud.organizations.list({ limit: 1 });
const company = organizations[0]?.id ?? assert.fail('The service is not seeded.');

/** Reject with the error of a call, for assert.rejects. */
const failureOf = (call: PromiseLike<unknown>) => Promise.resolve(call);

test('an owner creates an organization and invites somebody, who accepts', async () => {
  const organization = await maud.organizations.create({ name: 'Weir Lane' });
  const invitation = await maud.organizations.invitations.create(organization.id, {
    email: 'hattie@example.com',
    role: 'member',
  });
  const token = new URL(invitation.acceptUrl ?? '', baseUrl).searchParams.get('token') ?? '';
  const described = await hattie.organizations.invitations.describe({ token });
  assert.equal(described.canAccept, true);
  const accepted = await hattie.organizations.invitations.respond({ token });
  assert.equal(accepted.status, 'accepted');
  const { id: userId } = await hattie.me.get();
  assert.equal((await maud.organizations.members.get(organization.id, userId)).role, 'member');
});

test('an iterator returns the members of all pages once', async () => {
  const ids: string[] = [];
  for await (const member of maud.organizations.members.list(company, { limit: 2 })) ids.push(member.userId);
  const { items, nextCursor } = await maud.organizations.members.list(company, { limit: 100 });
  assert.equal(nextCursor, null);
  assert.ok(items.length > 4);
  assert.deepEqual(ids, items.map((each) => each.userId));
});

test('a change of a record that has changed since it was read fails with 412', async () => {
  const { id } = await maud.organizations.create({ name: 'Two editors' });
  const { etag } = await maud.organizations.get(id).withResponse();
  const changed = await maud.organizations.update(id, { name: 'One editor' }, { ifMatch: etag });
  assert.equal(changed.name, 'One editor');
  const late = maud.organizations.update(id, { name: 'Another editor' }, { ifMatch: etag });
  await assert.rejects(failureOf(late), (error) => error instanceof PreconditionFailed && error.code === 'precondition_failed');
  assert.equal((await maud.organizations.get(id)).name, 'One editor');
});

test('a conditional read transfers only changes', async () => {
  const { etag } = await maud.organizations.get(company).withResponse();
  assert.ok(etag);
  const again = maud.organizations.get(company, { ifNoneMatch: etag });
  assert.equal(await again, undefined);
  assert.equal((await again.withResponse()).response.status, 304);
  const list = await maud.organizations.members.list(company).withResponse();
  assert.equal(await maud.organizations.members.list(company, {}, { ifNoneMatch: list.etag ?? '' }), undefined);
});

test('problems are typed', async () => {
  const missing = '01939d3c-5f2e-7c4e-9d3a-0242ac120002';
  await assert.rejects(failureOf(maud.organizations.get(missing)), NotFound);
  await assert.rejects(failureOf(hattie.organizations.update(company, { name: 'Mine' })), Forbidden);
  await assert.rejects(failureOf(new Atrium({ baseUrl }).me.get()), Unauthenticated);
  const { slug } = await maud.organizations.get(company);
  await assert.rejects(failureOf(maud.organizations.create({ name: 'Copy', slug })), Conflict);
  const invalid = maud.organizations.invitations.create(company, { email: 'nobody', role: 'member' });
  await assert.rejects(failureOf(invalid), (error) => {
    assert.ok(error instanceof ValidationFailed && error.requestId);
    assert.deepEqual(error.errors.map((each) => each.pointer), ['/email']);
    return true;
  });
  await assert.rejects(failureOf(maud.organizations.list({ cursor: 'no' })), (error) => {
    return error instanceof InvalidRequest && error.code === 'invalid_cursor';
  });
});

test('a misspelled parameter is an error, unless the client is lenient', async () => {
  const query = { limt: 1 } as object;
  await assert.rejects(failureOf(maud.organizations.list(query)), ValidationFailed);
  const lenient = new Atrium({ baseUrl, token: variable('MAUD_TOKEN'), strict: false });
  const { response } = await lenient.organizations.list(query).withResponse();
  assert.equal(response.headers.get('Ignored-Parameters'), 'limt');
});

test('a POST whose answer is lost is repeated, and has its effect once', async () => {
  const headers = { 'X-Fault': 'lose-answer 1 creation' };
  const { data, response } = await maud.organizations.create({ name: 'Lost and found' }, { headers }).withResponse();
  assert.equal(data.name, 'Lost and found');
  assert.equal(response.headers.get('Idempotency-Replayed'), 'true');
});

test('requests are repeated while the service is unavailable or limits them', async () => {
  const { name } = await maud.organizations.get(company, { headers: { 'X-Fault': 'unavailable 2 read' } });
  assert.ok(name);
  const organization = await maud.organizations.create({ name: 'Patience' }, { headers: { 'X-Fault': 'rate-limited 1 creation' } });
  const changed = await maud.organizations.update(organization.id, { name: 'More patience' }, { headers: { 'X-Fault': 'unavailable 1 change' } });
  assert.equal(changed.name, 'More patience');
  await maud.organizations.delete(organization.id, { headers: { 'X-Fault': 'unavailable 1 deletion' } });
  await assert.rejects(failureOf(maud.organizations.get(organization.id)), NotFound);
});

test('an API key calls the service, and an export is a text', async () => {
  const { key } = await maud.organizations.apiKeys.create(company, { name: 'Export', scopes: ['audit-log:read'] });
  const program = new Atrium({ baseUrl, apiKey: key ?? '' });
  const text = await program.organizations.auditLog.export(company, { format: 'ndjson' });
  assert.ok(text.split('\n').length > 10);
  const first = JSON.parse(text.split('\n')[0] ?? '');
  assert.equal(first.type, 'organization.created');
});
