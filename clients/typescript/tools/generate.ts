/** Writes the types of records and requests, from the OpenAPI document, to the file that is named as its argument. */

import { readFile, writeFile } from 'node:fs/promises';
import openapiTypescript, { astToString, type OpenAPI3 } from 'openapi-typescript';

const DOCUMENT = new URL('../../../openapi.json', import.meta.url);
const [output] = process.argv.slice(2);
if (!output) throw new Error('Name the file to write.');

const MAX_EXAMPLE_LENGTH = 80;

/**
 * Return a part of the document without the examples of whole records. They would make the file three times as large; those
 * of fields stay. In a map of fields, `example` and `properties` are names of fields and no annotations.
 */
function withoutLargeExamples(part: unknown, isMapOfFields = false): unknown {
  if (typeof part !== 'object' || part === null) return part;
  if (Array.isArray(part)) return part.map((each) => withoutLargeExamples(each));
  const isKept = ([name, value]: [string, unknown]) => isMapOfFields || !isLargeExample(name, value);
  const kept = Object.entries(part).filter(isKept);
  return Object.fromEntries(kept.map(([name, value]) => [name, withoutLargeExamples(value, !isMapOfFields && name === 'properties')]));
}

function isLargeExample(name: string, value: unknown): boolean {
  const isExample = (name === 'example' || name === 'examples') && typeof value === 'object';
  return isExample && JSON.stringify(value).length > MAX_EXAMPLE_LENGTH;
}

const document = withoutLargeExamples(JSON.parse(await readFile(DOCUMENT, 'utf8'))) as OpenAPI3;
const types = await openapiTypescript(document, { rootTypes: true, rootTypesNoSchemaPrefix: true, silent: true });
await writeFile(output, `// The types of the API, by openapi-typescript. \`make clients\` writes this file.\n\n${astToString(types)}`);
