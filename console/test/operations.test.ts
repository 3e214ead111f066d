/** Every operation of the API is called by the console, or left out for a reason. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { FIRST_OPERATIONS } from '../src/api/client';

interface Operation {
  operationId: string;
  'x-atrium-client': { group: string; method: string };
}

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/** Why the console does not call an operation. */
const LEFT_OUT: Readonly<Record<string, readonly string[]>> = {
  'The browser opens them, as pages or files.': [
    ...['get_console', 'get_console_asset', 'get_invitation_page', 'get_domain_setup_page', 'get_webhook_portal_page'],
    ...['get_docs', 'get_docs_asset', 'get_llms_text', 'get_openapi_document', 'get_service_links', 'preview_page_publicly'],
    ...['describe_subscription', 'unsubscribe'],
  ],
  'Lists that the console reads contain the same record.': [
    ...['get_api_key', 'get_erasure', 'get_invitation', 'get_module_override', 'get_space_capability'],
    ...['get_taxonomy_attachment', 'list_platform_taxonomy_attachments'],
  ],
  'The console reads the same record by its id.': [
    ...['get_organization_by_slug', 'get_platform_member_by_user', 'get_platform_member_by_username'],
    ...['get_page_by_path', 'get_home_page'],
  ],
  'They are for the visitors and front ends of platforms and sites.': [
    ...['get_platform_config', 'resolve_platform_config', 'create_public_lead', 'list_public_leads', 'get_public_lead'],
    ...['change_public_lead_status', 'list_public_lead_statuses'],
  ],
  'They are for programs.': ['create_events'],
  'The browser proves the log itself.': ['verify_audit_integrity', 'list_anchors'],
  'All overrides of a space are replaced on the condition that it is unchanged.': ['set_module_override'],
  'They are called through a variable, which has the kind of reference data.': [
    ...['get_city', 'get_country', 'get_currency', 'get_language', 'get_timezone'],
    ...['list_countries', 'list_currencies', 'list_languages', 'list_timezones', 'list_cities'],
  ],
};

const { paths } = JSON.parse(readFileSync(`${ROOT}../openapi.json`, 'utf8')) as {
  paths: Record<string, Record<string, Operation>>;
};
const operations = Object.values(paths).flatMap((path) => METHODS.flatMap((method) => path[method] ?? []));
const sources = readdirSync(`${ROOT}src`, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name) && !name.includes('.generated.'))
  .map((name) => readFileSync(`${ROOT}src/${name}`, 'utf8'))
  .join('\n');

function isCalled({ 'x-atrium-client': { group, method } }: Operation): boolean {
  // The first part of the group can be in a variable.
  const [start, ...rest] = [...group.split('.'), method];
  const path = rest.join('\\s*\\.');
  return new RegExp(rest.length > 1 ? `\\b${path}\\b` : `\\b${start}\\s*\\.${path}\\b`).test(sources);
}

test('every operation is called or left out, and never both', () => {
  const leftOut = Object.values(LEFT_OUT).flat();
  assert.ok(operations.length > 200);
  const missing = operations.filter((each) => !isCalled(each)).map((each) => each.operationId);
  assert.deepEqual(missing.sort(), [...leftOut].sort());
});

test('what decides whether a screen is shown calls the first operations only', () => {
  const calling = readFileSync(`${ROOT}src/ui/place.ts`, 'utf8');
  const called = [...calling.matchAll(/\bclient\.([\w.]+)\(/g)].map((match) => match[1] ?? '');
  assert.ok(called.length >= 6);
  for (const path of called) {
    const line = path.split('.').reduce<unknown>((part, name) => (part as Record<string, unknown> | undefined)?.[name], FIRST_OPERATIONS);
    assert.equal(typeof line, 'string', `${path} is no first operation.`);
  }
});
