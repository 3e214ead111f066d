/** Generates, from the OpenAPI document, the access rule of each operation. */

import { readFile, writeFile } from 'node:fs/promises';

const DOCUMENT = new URL('../../openapi.json', import.meta.url);
const ACCESS = new URL('../src/api/access.generated.ts', import.meta.url);
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

interface Operation {
  operationId: string;
  'x-atrium-access': string;
}

const { paths } = JSON.parse(await readFile(DOCUMENT, 'utf8')) as { paths: Record<string, Record<string, Operation>> };
const operations = Object.values(paths).flatMap((path) => METHODS.flatMap((method) => path[method] ?? []));
const rules = operations
  .sort((a, b) => (a.operationId < b.operationId ? -1 : 1))
  .map((each) => `export const ${each.operationId} = '${each['x-atrium-access']}';`);

await writeFile(ACCESS, `// Generated from openapi.json: who may call each operation.\n\n${rules.join('\n')}\n`);
