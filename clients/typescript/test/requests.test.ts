import assert from 'node:assert/strict';
import { test } from 'node:test';
import { API_VERSION, Atrium } from '../src/index.ts';
import { BASE_URL, createFakeService, json } from './fake-service.ts';

test('a method sends the values of the path, the body and the options', async () => {
  const { client, requests } = createFakeService([json({ role: 'editor' })], { token: 'secret' });
  const member = await client.organizations.members.update('o 1', 'u/2', { role: 'editor' }, { ifMatch: '"v1"' });
  assert.deepEqual(member, { role: 'editor' });
  const [request] = requests;
  assert.equal(`${request?.method} ${request?.path}`, 'PATCH /organizations/o%201/members/u%2F2');
  assert.deepEqual(request?.body, { role: 'editor' });
  assert.equal(request?.headers.get('If-Match'), '"v1"');
  assert.equal(request?.headers.get('Authorization'), 'Bearer secret');
  assert.equal(request?.headers.get('API-Version'), API_VERSION);
  assert.equal(request?.headers.get('Prefer'), 'handling=strict');
  assert.equal(request?.headers.get('Idempotency-Key'), null);
});

test('a read sends its query, and no values that are undefined or null', async () => {
  const { client, requests } = createFakeService([json({ items: [], nextCursor: null })]);
  await client.organizations.members.list('o1', { limit: 5, sort: '-createdAt' });
  assert.equal(requests[0]?.path, '/organizations/o1/members?limit=5&sort=-createdAt');
});

test('an operation with a body has its query in the options', async () => {
  const { client, requests } = createFakeService([json({})]);
  await client.organizations.members.update('o1', 'u1', { role: 'member' }, { query: { keys: 'keep' } });
  assert.equal(requests[0]?.path, '/organizations/o1/members/u1?keys=keep');
});

test('options come directly after the path if there is neither body nor query', async () => {
  const { client, requests } = createFakeService([json({}), json({}), new Response(null, { status: 204 })]);
  await client.me.get({ headers: { 'X-Trace': '1' } });
  await client.me.get();
  assert.equal(await client.organizations.delete('o1', { ifMatch: '"v1"' }), undefined);
  assert.equal(requests[0]?.headers.get('X-Trace'), '1');
  assert.equal(requests[0]?.path, '/me');
  assert.equal(requests[2]?.headers.get('If-Match'), '"v1"');
});

test('each POST has a key of its own, or that of the caller', async () => {
  const { client, requests } = createFakeService([json({}), json({}), json({})]);
  await client.organizations.create({ name: 'Loom' });
  await client.organizations.create({ name: 'Loom' });
  await client.organizations.create({ name: 'Loom' }, { idempotencyKey: 'mine' });
  const keys = requests.map((each) => each.headers.get('Idempotency-Key'));
  assert.equal(new Set(keys).size, 3);
  assert.match(keys[0] ?? '', /^[0-9a-f-]{36}$/);
  assert.equal(keys[2], 'mine');
});

test('a request is sent although nobody waits for its answer', async () => {
  const { client, requests } = createFakeService([new Response(null, { status: 204 })]);
  void client.organizations.leave('o1');
  await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal(requests.length, 1);
});

test('a call can be awaited more than once, and sends one request', async () => {
  const { client, requests } = createFakeService([json({ name: 'Loom' }, { headers: { ETag: '"v7"' } })]);
  const call = client.organizations.get('o1');
  const { data, etag, response } = await call.withResponse();
  assert.equal(await call, data);
  assert.deepEqual([data.name, etag, response.status], ['Loom', '"v7"', 200]);
  assert.equal(requests.length, 1);
});

test('a conditional read returns undefined while the record is unchanged', async () => {
  const { client, requests } = createFakeService([new Response(null, { status: 304 }), json({ items: [], nextCursor: null })]);
  assert.equal(await client.organizations.get('o1', { ifNoneMatch: '"v7"' }), undefined);
  assert.equal(requests[0]?.headers.get('If-None-Match'), '"v7"');
  const page = await client.organizations.members.list('o1', {}, { ifNoneMatch: '"p1"' });
  assert.deepEqual(page?.items, []);
});

test('texts are returned as they are', async () => {
  const { client, requests } = createFakeService([new Response('{"sequence":1}\n{"sequence":2}\n')]);
  assert.equal(await client.organizations.auditLog.export('o1', { format: 'ndjson' }), '{"sequence":1}\n{"sequence":2}\n');
  assert.notEqual(requests[0]?.headers.get('Accept'), 'application/json');
});

test('tokens of signed links and of leads have headers of their own', async () => {
  const link = createFakeService([json({})], { linkToken: 'link' });
  await link.client.signedLink.get();
  assert.equal(link.requests[0]?.headers.get('Link-Token'), 'link');
  assert.equal(link.requests[0]?.headers.get('Authorization'), null);
  const lead = createFakeService([json({})]);
  await lead.client.public.leads.get('l1', { leadToken: 'lead' });
  assert.equal(lead.requests[0]?.headers.get('Lead-Token'), 'lead');
});

test('values that would lead to another path are rejected before a request is sent', async () => {
  const { client, requests } = createFakeService([]);
  for (const value of ['', '.', '..', undefined as unknown as string]) {
    await assert.rejects(client.organizations.members.remove('o1', value), {
      name: 'TypeError',
      message: /^user_id must be a text/,
    });
  }
  assert.equal(requests.length, 0);
});

test('the global fetch is the default, and settings apply to all requests', async (context) => {
  const requests: Request[] = [];
  context.mock.method(globalThis, 'fetch', async (request: Request) => {
    requests.push(request);
    return json({});
  });
  await new Atrium({ baseUrl: `${BASE_URL}/`, apiKey: 'atr_1', strict: false, headers: { 'X-App': 'loom' } }).me.get();
  const [request] = requests;
  assert.equal(request?.url, `${BASE_URL}/me`);
  assert.equal(request?.headers.get('Authorization'), 'Bearer atr_1');
  assert.equal(request?.headers.get('Prefer'), null);
  assert.equal(request?.headers.get('X-App'), 'loom');
  assert.deepEqual([request?.cache, request?.credentials], ['no-store', 'omit']);
});
