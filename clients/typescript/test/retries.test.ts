import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectionFailed, RateLimited, ServiceUnavailable, Unauthenticated } from '../src/index.ts';
import { waitMsOrNull } from '../src/retries.ts';
import { createFakeService, json, problem } from './fake-service.ts';

const AT_ONCE = { 'Retry-After': '0' };

test('a POST is repeated with the same key and body after lost answers, 5xx and 429', async () => {
  const { client, requests } = createFakeService([
    new TypeError('fetch failed'),
    problem(503, 'unavailable', {}, AT_ONCE),
    problem(429, 'rate_limited', {}, AT_ONCE),
    json({ id: 'o1' }, { status: 201 }),
  ]);
  assert.equal((await client.organizations.create({ name: 'Loom' })).id, 'o1');
  assert.equal(requests.length, 4);
  assert.equal(new Set(requests.map((each) => each.headers.get('Idempotency-Key'))).size, 1);
  assert.ok(requests.every((each) => JSON.stringify(each.body) === '{"name":"Loom"}'));
});

test('reads and other changes are repeated, too', async () => {
  const failure = () => problem(500, 'internal_error', {}, AT_ONCE);
  const { client, requests } = createFakeService([failure(), json({}), failure(), json({}), failure(), json({})]);
  await client.organizations.get('o1');
  await client.organizations.update('o1', { name: 'Loom' }, { ifMatch: '"v1"' });
  await client.organizations.delete('o1');
  assert.equal(requests.length, 6);
  assert.equal(requests[3]?.headers.get('If-Match'), '"v1"');
});

test('the last failure is thrown after the retries', async () => {
  const failures = Array.from({ length: 4 }, () => problem(503, 'unavailable', {}, AT_ONCE));
  const { client, requests } = createFakeService(failures);
  await assert.rejects(Promise.resolve(client.me.get()), ServiceUnavailable);
  assert.equal(requests.length, 4);
  const once = createFakeService([problem(503, 'unavailable', {}, AT_ONCE)], { maxRetries: 5 });
  await assert.rejects(Promise.resolve(once.client.me.get({ maxRetries: 0 })), ServiceUnavailable);
});

test('other problems are not repeated', async () => {
  for (const [status, code] of [[400, 'malformed_json'], [404, 'not_found'], [409, 'conflict'], [422, 'validation_failed']] as const) {
    const { client, requests } = createFakeService([problem(status, code)]);
    await assert.rejects(Promise.resolve(client.me.get()), { code });
    assert.equal(requests.length, 1);
  }
});

test('a POST whose first attempt is still at work is repeated', async () => {
  const { client, requests } = createFakeService([problem(409, 'idempotency_in_progress', {}, AT_ONCE), json({})]);
  await client.organizations.create({ name: 'Loom' });
  assert.equal(requests.length, 2);
});

test('waits double with jitter up to a limit, and follow Retry-After up to a minute', () => {
  const failure = new ConnectionFailed('lost');
  for (const [retries, longest] of [[0, 500], [1, 1000], [3, 4000], [9, 8000]] as const) {
    const waits = Array.from({ length: 50 }, () => waitMsOrNull(failure, retries, 60) ?? NaN);
    assert.ok(waits.every((each) => each >= longest / 2 && each <= longest));
    assert.ok(new Set(waits).size > 1);
  }
  const limited = (value: string) => new RateLimited({}, new Response(null, { status: 429, headers: { 'Retry-After': value } }));
  assert.equal(waitMsOrNull(limited('7'), 0, 60), 7000);
  assert.equal(waitMsOrNull(limited('61'), 0, 60), null);
  const inTenSeconds = waitMsOrNull(limited(new Date(Date.now() + 10_000).toUTCString()), 0, 60) ?? NaN;
  assert.ok(inTenSeconds >= 8_000 && inTenSeconds <= 10_000);
  assert.equal(waitMsOrNull(new TypeError('a mistake'), 0, 60), null);
});

test('a refused token is renewed once, and the same request is sent again', async () => {
  const calls: boolean[] = [];
  const getToken = async ({ refresh }: { refresh: boolean }) => {
    calls.push(refresh);
    return refresh ? 'new' : 'old';
  };
  const { client, requests } = createFakeService([problem(401, 'token_expired'), json({})], { getToken });
  await client.organizations.create({ name: 'Loom' });
  assert.deepEqual(calls, [false, true]);
  assert.deepEqual(requests.map((each) => each.headers.get('Authorization')), ['Bearer old', 'Bearer new']);
  assert.equal(requests[0]?.headers.get('Idempotency-Key'), requests[1]?.headers.get('Idempotency-Key'));

  const refused = createFakeService([problem(401, 'token_expired'), problem(401, 'unauthenticated')], { getToken });
  await assert.rejects(Promise.resolve(refused.client.me.get()), Unauthenticated);
});

test('a refused request is sent again only with another token', async () => {
  for (const settings of [{ token: 'same' }, { getToken: () => 'same' }, { getToken: () => null }]) {
    const { client, requests } = createFakeService([problem(401, 'token_expired')], settings);
    await assert.rejects(Promise.resolve(client.me.get()), Unauthenticated);
    assert.equal(requests.length, 1);
  }
});

test('the token is asked for again at each attempt, and may be missing', async () => {
  const tokens = ['first', null];
  const { client, requests } = createFakeService([problem(503, 'unavailable', {}, AT_ONCE), json({})], {
    getToken: () => tokens.shift(),
  });
  await client.me.get();
  assert.deepEqual(requests.map((each) => each.headers.get('Authorization')), ['Bearer first', null]);
});

test('an attempt that takes too long is a failure of the connection', async () => {
  const never = (request: Request) =>
    new Promise<Response>((_, reject) => request.signal.addEventListener('abort', () => reject(request.signal.reason)));
  const { client, requests } = createFakeService([never, never], { timeoutMs: 20 });
  // Only the timeout is pending, and that does not keep Node running.
  const running = setInterval(() => {}, 1000);
  const failed = assert.rejects(Promise.resolve(client.organizations.get('secret', { maxRetries: 1 })), (error) => {
    assert.ok(error instanceof ConnectionFailed);
    assert.match(error.message, /^GET \/organizations\/\{organization_id\} failed: no answer within 20 ms$/);
    return true;
  });
  await failed.finally(() => clearInterval(running));
  assert.equal(requests.length, 2);
});

test('a call can be cancelled, also while it waits to be repeated', async () => {
  const { client, requests } = createFakeService([problem(503, 'unavailable', {}, { 'Retry-After': '30' })]);
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error('the page was left')), 20);
  await assert.rejects(Promise.resolve(client.me.get({ signal: controller.signal })), { message: 'the page was left' });
  assert.equal(requests.length, 1);
  const cancelled = createFakeService([]);
  const call = cancelled.client.me.get({ signal: AbortSignal.abort(new Error('never sent')) });
  await assert.rejects(Promise.resolve(call), { message: 'never sent' });
});
