import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { createFakeService, json } from './fake-service.ts';

const MAX_SIZE_BYTES = 8 * 1024;

interface Operation {
  operationId: string;
  'x-atrium-client': { group: string; method: string };
}

const document = JSON.parse(readFileSync(new URL('../../../openapi.json', import.meta.url), 'utf8'));
const paths: Record<string, Record<string, Operation>> = document.paths;

test('every operation of the API is a method that sends its request', async () => {
  let count = 0;
  for (const [path, item] of Object.entries(paths)) {
    for (const [httpMethod, operation] of Object.entries(item)) {
      const { group, method } = operation['x-atrium-client'];
      const { client, requests } = createFakeService([json({ items: [], nextCursor: null })]);
      let resource: any = client;
      for (const name of group.split('.')) resource = resource[name];
      await resource[method](...Array.from(path.matchAll(/\{\w+\}/g), (_, index) => `p${index}`));
      let index = 0;
      const expected = path.replace(/\{\w+\}/g, () => `p${index++}`);
      assert.equal(`${requests[0]?.method} ${requests[0]?.path}`, `${httpMethod.toUpperCase()} ${expected}`);
      count += 1;
    }
  }
  assert.ok(count > 200);
});

test('the client is small enough for the first screen of the console', async () => {
  const entry = new URL('../src/index.ts', import.meta.url).pathname;
  const built = await build({ entryPoints: [entry], bundle: true, minify: true, format: 'esm', write: false });
  const size = gzipSync(built.outputFiles[0]?.contents ?? '', { level: 9 }).length;
  assert.ok(size > 1024 && size <= MAX_SIZE_BYTES, `${size} bytes`);
});

test('a program that verifies messages does not load the client', async () => {
  const entry = new URL('../src/webhooks.ts', import.meta.url).pathname;
  const options = { bundle: true, format: 'esm', platform: 'node', write: false, metafile: true } as const;
  const { metafile } = await build({ entryPoints: [entry], ...options });
  const loaded = Object.keys(metafile.inputs).filter((file) => !file.includes('node_modules'));
  assert.deepEqual(loaded.map((file) => file.split('/').pop()), ['webhooks.ts']);
});
