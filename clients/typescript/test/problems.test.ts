import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as client from '../src/index.ts';
import { createFakeService, json, problem } from './fake-service.ts';

async function errorOf(answer: Response): Promise<unknown> {
  const fake = createFakeService([answer], { maxRetries: 0 });
  return fake.client.me.get().then(
    () => assert.fail('The call should fail.'),
    (error: unknown) => error,
  );
}

test('each status has a class, and all are problems of the API', async () => {
  const classes = {
    400: 'InvalidRequest', 401: 'Unauthenticated', 403: 'Forbidden', 404: 'NotFound', 409: 'Conflict', 410: 'Gone',
    412: 'PreconditionFailed', 413: 'InvalidRequest', 415: 'InvalidRequest', 422: 'ValidationFailed', 429: 'RateLimited',
    500: 'ServiceUnavailable', 503: 'ServiceUnavailable',
  } as const;
  for (const [status, name] of Object.entries(classes)) {
    const error = await errorOf(problem(Number(status), 'conflict'));
    assert.ok(error instanceof client[name] && error instanceof client.ApiProblem && error instanceof client.AtriumError);
    assert.equal(error.name, name);
  }
});

test('a problem has the fields of the answer', async () => {
  const errors = [{ pointer: '/slug', code: 'malformed', detail: 'must not hold two hyphens in a row' }];
  const error = await errorOf(problem(422, 'validation_failed', { errors, requestId: 'r1', existingId: 'o9' }, { 'Retry-After': '3' }));
  assert.ok(error instanceof client.ValidationFailed);
  const { status, code, title, detail, requestId, retryAfterSeconds, existingId } = error;
  assert.deepEqual(
    { status, code, title, detail, requestId, retryAfterSeconds, existingId, errors: error.errors },
    { status: 422, code: 'validation_failed', title: 'Title', detail: 'Detail.', requestId: 'r1', retryAfterSeconds: 3, existingId: 'o9', errors },
  );
  assert.equal(error.message, '422 validation_failed: Detail.\n  /slug: must not hold two hyphens in a row');
});

test('gateways in front of the service answer without a problem', async () => {
  const limited = await errorOf(json({ message: 'Too Many Requests' }, { status: 429 }));
  assert.ok(limited instanceof client.RateLimited);
  assert.equal(limited.code, 'rate_limited');
  const failed = await errorOf(new Response('<html>Bad Gateway</html>', { status: 502, headers: { 'X-Request-Id': 'r2' } }));
  assert.ok(failed instanceof client.ServiceUnavailable);
  assert.deepEqual([failed.code, failed.requestId], ['unavailable', 'r2']);
});

test('an answer of something else is unexpected', async () => {
  const missing = await errorOf(new Response('<html>Not Found</html>', { status: 404 }));
  assert.ok(missing instanceof client.UnexpectedAnswer && !(missing instanceof client.ApiProblem));
  assert.deepEqual([missing.name, missing.status], ['UnexpectedAnswer', 404]);
  const page = await errorOf(new Response('<html>Sign in to the Wi-Fi</html>'));
  assert.ok(page instanceof client.UnexpectedAnswer);
  assert.match(page.message, /GET \/me: the answer is not JSON/);
});
