import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OPERATIONS, type OperationTable } from 'atrium-client';
import { FIRST_OPERATIONS } from '../src/api/client.ts';
import { HOSTED_OPERATIONS } from '../src/hosted/client.ts';

function* linesOf(table: OperationTable, group = ''): Generator<[string, string]> {
  for (const [name, each] of Object.entries(table)) {
    if (typeof each === 'string') yield [group + name, each];
    else yield* linesOf(each, `${group}${name}.`);
  }
}

for (const [page, table] of Object.entries({ 'hosted pages': HOSTED_OPERATIONS, 'the first screen': FIRST_OPERATIONS })) {
  test(`${page} call operations as the client does`, () => {
    const all = new Map(linesOf(OPERATIONS));
    const lines = [...linesOf(table)];
    assert.ok(lines.length > 8);
    assert.deepEqual(lines.map(([name]) => [name, all.get(name)]), lines);
  });
}
