/** Budgets of the committed bundle, compressed: what each page and each screen loads. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { chunkOfFolder } from '../tools/chunks';

const FOLDER = new URL('../../chalicelib/entrypoints/console_bundle/', import.meta.url);
const MAX_FIRST_SCREEN_BYTES = 45_000;
const MAX_SCREEN_BYTES = 12_000;
const MAX_HOSTED_BYTES = 25_000;
const MAX_TOTAL_BYTES = 173_000;

const HOSTED_PAGES = ['invitation', 'domain-setup', 'webhook-portal'];

const ASSETS = readdirSync(new URL('assets/', FOLDER));
const read = (name: string) => readFileSync(new URL(`assets/${name}`, FOLDER));
const size = (names: Iterable<string>) => [...names].reduce((sum, name) => sum + gzipSync(read(name), { level: 9 }).length, 0);

/** Return the files that a file imports at once, and those that these import. */
function withImports(names: Iterable<string>, found = new Set<string>()): Set<string> {
  for (const name of names) {
    if (found.has(name)) continue;
    found.add(name);
    const text = name.endsWith('.js') ? read(name).toString() : '';
    const imported = [...text.matchAll(/(?:from|import)\s*["']\.\/([^"']+)["']/g)].map((match) => match[1] ?? '');
    withImports(imported, found);
  }
  return found;
}

function filesOfPage(page: string): Set<string> {
  const html = readFileSync(new URL(`${page}.html`, FOLDER), 'utf8');
  return withImports([...html.matchAll(/\/console\/([^"]+)"/g)].map((match) => match[1] ?? ''));
}

/** Return the files that a chunk loads when it is opened from a page. The chunk has the name of the module or of its area. */
function filesOfScreen(name: string, page: Set<string>, folder = name): Set<string> {
  const isChunk = (each: string, chunk: string) => new RegExp(`^${chunk}-[\\w-]{8}\\.js$`).test(each);
  const file = ASSETS.find((each) => isChunk(each, name)) ?? ASSETS.find((each) => isChunk(each, chunkOfFolder(folder)));
  assert.ok(file, `There is no chunk ${name} or ${folder}.`);
  return withImports([file], new Set(page));
}

/** What all further screens load once: the other operations, the styles of screens, forms, and other shared parts. */
const SHARED = ['all-operations', 'operations', 'forms', 'parts', 'full-client', 'links'];

const isShared = (file: string) => SHARED.some((name) => file.startsWith(`${name}-`));
const first = filesOfPage('index');
/** Every screen that a route loads: its folder and its module. */
const screens = readdirSync(new URL('../src/routes/', import.meta.url)).flatMap((name) =>
  [...readFileSync(new URL(`../src/routes/${name}`, import.meta.url), 'utf8').matchAll(/screens\/([\w-]+)\/([\w-]+)'/g)].map(
    ([, folder = '', module = '']) => ({ folder, module }),
  ),
);

test('the sign-in page and the first screen are within the budget', () => {
  assert.ok(first.size >= 3, 'The page loads a script, a stylesheet and what they share.');
  const bytes = size(filesOfScreen('organizations', first));
  assert.ok(bytes <= MAX_FIRST_SCREEN_BYTES, `${bytes} bytes`);
});

test('each further screen is within the budget', () => {
  assert.ok(screens.length > 50);
  for (const { folder, module: name } of screens) {
    const added = [...filesOfScreen(name, first, folder)].filter((each) => !first.has(each) && !isShared(each));
    assert.ok(size(added) <= MAX_SCREEN_BYTES, `${name}: ${size(added)} bytes`);
  }
});

test('what further screens share is within the budget of a screen and a half', () => {
  const bytes = size(ASSETS.filter(isShared));
  assert.ok(bytes <= 1.5 * MAX_SCREEN_BYTES, `${bytes} bytes`);
});

test('hosted pages are within the budget', () => {
  for (const page of HOSTED_PAGES) {
    const bytes = size(filesOfPage(page));
    assert.ok(bytes <= MAX_HOSTED_BYTES, `${page}: ${bytes} bytes`);
  }
});

test('everything together is within the budget', () => {
  const bytes = size(ASSETS);
  assert.ok(bytes <= MAX_TOTAL_BYTES, `${bytes} bytes`);
  const hosted = HOSTED_PAGES.map((page) => size(filesOfPage(page)));
  console.log(`first ${size(filesOfScreen('organizations', first))}, hosted ${hosted.join(', ')}, all ${bytes}`);
});

test('pages contain no inline script or style', () => {
  for (const page of ['index', ...HOSTED_PAGES]) {
    const html = readFileSync(new URL(`${page}.html`, FOLDER), 'utf8');
    assert.doesNotMatch(html, /<style|style=|<script(?![^>]* src=)|\son\w+=/);
  }
});
