import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_POST_RETRIES } from '../src/api/client.ts';
import { createCurlCommand } from '../src/api/curl.ts';
import { createClient } from '../src/api/full-client.ts';
import { ApiProblem, ConnectionFailed, describeError, fieldProblemOrNull } from '../src/api/problems.ts';
import { nextPollMs } from '../src/api/polling.ts';
import { retryDelayMs } from '../src/api/queries.ts';

type Answer = Response | Error;

/** A client whose requests get these answers in turn, and the requests that it sent. */
function clientWith(...answers: Answer[]) {
  const requests: Request[] = [];
  const fetch = async (request: Request) => {
    requests.push(request);
    const answer = answers.shift();
    if (answer instanceof Response) return answer;
    throw answer ?? new Error('There are no more answers.');
  };
  const client = createClient({ baseUrl: 'https://api.example.com', getToken: () => 'token', fetch });
  return { client, requests };
}

const problem = (status: number, more: object = {}, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify({ status, code: 'conflict', detail: 'No.', requestId: 'r1', ...more }), { status, headers });

test('a post is repeated with the same idempotency key', async () => {
  const created = new Response('{"id": "1"}', { status: 201, headers: { ETag: '"1"' } });
  const { client, requests } = clientWith(new TypeError('offline'), problem(503), created);
  const answer = await client.organizations.create({ name: 'Engines' }, { maxRetries: MAX_POST_RETRIES }).withResponse();
  assert.deepEqual([answer.data.id, answer.etag], ['1', '"1"']);
  assert.equal(requests.length, 3);
  assert.equal(new Set(requests.map((each) => each.headers.get('Idempotency-Key'))).size, 1);
  assert.ok(requests.every((each) => each.headers.get('Authorization') === 'Bearer token'));
});

test('a patch is sent once, with its condition', async () => {
  const { client, requests } = clientWith(problem(503));
  await assert.rejects(client.organizations.members.update('o', 'u', { role: 'editor' }, { ifMatch: '"7"' }));
  assert.deepEqual(requests.map((each) => each.headers.get('If-Match')), ['"7"']);
});

test('empty filters are not sent', async () => {
  const { client, requests } = clientWith(new Response('{"items": [], "nextCursor": null}'));
  await client.organizations.invitations.list('o', { status: undefined, cursor: undefined, email: 'a@example.com' });
  assert.equal(requests[0]?.url, 'https://api.example.com/organizations/o/invitations?email=a%40example.com');
});

test('problems have their code, their request and their fields', async () => {
  const errors = [{ pointer: '/name', code: 'malformed', detail: 'must not be empty' }];
  const { client } = clientWith(problem(422, { errors }));
  const error = await client.organizations.create({ name: '' }).catch((each: unknown) => each);
  assert.deepEqual(describeError(error), { title: 'This did not work', detail: 'No.', code: 'conflict', requestId: 'r1' });
  assert.equal(fieldProblemOrNull(error, '/name'), 'This must not be empty.');
  assert.equal(fieldProblemOrNull(error, '/slug'), null);
});

test('every error has a description', () => {
  const titles = [401, 403, 404, 410, 412, 429, 503].map((status) => describeError(new ApiProblem({}, new Response(null, { status }))).title);
  assert.equal(new Set(titles).size, titles.length);
  assert.equal(describeError(new ConnectionFailed('lost')).code, 'offline');
  assert.equal(describeError(new TypeError('x is undefined')).code, 'console_fault');
});

test('reads wait as long as the service says', () => {
  assert.equal(retryDelayMs(0, new ApiProblem({}, new Response(null, { status: 429, headers: { 'Retry-After': '7' } }))), 7000);
  assert.equal(retryDelayMs(1, new ConnectionFailed('lost')), 1500);
});

test('polling starts at 5 seconds, backs off to 60, and starts again after a change', () => {
  const intervals = [0, 1, 2, 3, 4].reduce<number[]>((all) => [...all, nextPollMs(all.at(-1) ?? null, false)], []);
  assert.deepEqual(intervals, [5000, 10_000, 20_000, 40_000, 60_000]);
  assert.equal(nextPollMs(60_000, true), 5000);
});

test('a call is written as a curl command without the token, and quoted for the shell', async () => {
  const command = await createCurlCommand('https://api.example.com', (client) =>
    client.organizations.create({ name: "Ada's Engines" }, { idempotencyKey: 'k' }),
  );
  assert.equal(
    command,
    [
      "curl -X POST 'https://api.example.com/organizations'",
      '-H "Authorization: Bearer $ATRIUM_TOKEN"',
      "-H 'Idempotency-Key: k'",
      "-H 'Content-Type: application/json'",
      `-d '{"name":"Ada'\\''s Engines"}'`,
    ].join(' \\\n  '),
  );
});
