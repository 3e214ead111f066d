import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NotFound } from '../src/index.ts';
import { createFakeService, json, problem } from './fake-service.ts';

const PAGES = [
  { items: [{ userId: 'a' }, { userId: 'b' }], nextCursor: 'c1' },
  { items: [], nextCursor: 'c2' },
  { items: [{ userId: 'c' }], nextCursor: null },
];

test('a list is an iterator over the items of all pages', async () => {
  const { client, requests } = createFakeService(PAGES.map((page) => json(page)));
  const ids: string[] = [];
  for await (const member of client.organizations.members.list('o1', { limit: 2 })) ids.push(member.userId);
  assert.deepEqual(ids, ['a', 'b', 'c']);
  assert.deepEqual(
    requests.map((each) => each.path),
    ['', '&cursor=c1', '&cursor=c2'].map((cursor) => `/organizations/o1/members?limit=2${cursor}`),
  );
});

test('a page is only requested when its items are needed', async () => {
  const { client, requests } = createFakeService([json(PAGES[0])]);
  const list = client.organizations.members.list('o1');
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(requests.length, 0);
  for await (const member of list) if (member.userId === 'b') break;
  assert.equal(requests.length, 1);
});

test('await returns one page, with its headers on request', async () => {
  const { client, requests } = createFakeService([json(PAGES[0], { headers: { ETag: '"p1"' } })]);
  const list = client.organizations.members.list('o1', { cursor: 'c0' });
  const { items, nextCursor } = await list;
  assert.deepEqual([items.length, nextCursor], [2, 'c1']);
  assert.equal((await list.withResponse()).etag, '"p1"');
  assert.deepEqual(requests.map((each) => each.path), ['/organizations/o1/members?cursor=c0']);
});

test('pages can be iterated over, too', async () => {
  const { client } = createFakeService(PAGES.map((page) => json(page)));
  const sizes: number[] = [];
  for await (const page of client.organizations.members.list('o1').pages()) sizes.push(page.items.length);
  assert.deepEqual(sizes, [2, 0, 1]);
});

test('a problem ends the iteration', async () => {
  const { client } = createFakeService([json(PAGES[0]), problem(404, 'not_found')]);
  const ids: string[] = [];
  await assert.rejects(async () => {
    for await (const member of client.organizations.members.list('o1')) ids.push(member.userId);
  }, NotFound);
  assert.deepEqual(ids, ['a', 'b']);
});
