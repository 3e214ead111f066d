/** Times that people type, and the destinations of log streams. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeDestination, toDestination, toDestinationValues } from '../src/screens/log-streams/destinations.ts';
import { parseTimeOrNull, toInputTime } from '../src/ui/time-format.ts';

test('a typed time is that of the chosen zone', () => {
  assert.equal(parseTimeOrNull('2026-11-29T05:50', 'utc'), '2026-11-29T05:50:00.000Z');
  assert.equal(parseTimeOrNull('2026-11-29T05:50', 'local'), new Date(2026, 10, 29, 5, 50).toISOString());
  assert.equal(parseTimeOrNull('', 'utc'), null);
  assert.equal(parseTimeOrNull('2026-13-01T00:00', 'local'), null);
});

test('a time is shown in the input as it was typed', () => {
  for (const zone of ['utc', 'local'] as const) {
    assert.equal(toInputTime(parseTimeOrNull('2026-11-29T05:50', zone) ?? '', zone), '2026-11-29T05:50');
  }
  assert.equal(toInputTime('tomorrow', 'utc'), '');
});

test('the form of a destination returns the destination, without the credential that is never shown', () => {
  const splunk = { type: 'splunk' as const, url: 'https://splunk.example.com/services/collector/event', index: 'main' };
  assert.deepEqual(toDestination(toDestinationValues(splunk)), splunk);
  const s3 = { type: 's3' as const, bucket: 'logs', region: 'eu-central-1', roleArn: 'arn:aws:iam::1:role/atrium-log-stream-x' };
  assert.deepEqual(toDestination(toDestinationValues(s3)), s3);
});

test('a destination has only the fields of its kind', () => {
  const values = { ...toDestinationValues({ type: 'https', url: 'https://a.example' }), 'destination/type': 'datadog' };
  assert.deepEqual(toDestination({ ...values, 'destination/apiKey': 'k' }), { type: 'datadog', site: 'datadoghq.com', apiKey: 'k' });
});

test('a destination is named by its place', () => {
  assert.equal(describeDestination({ type: 's3', bucket: 'logs', prefix: 'atrium' }), 'logs/atrium');
  assert.equal(describeDestination({ type: 'datadog', site: 'datadoghq.eu' }), 'datadoghq.eu');
  assert.equal(describeDestination({ type: 'https', url: 7 }), 'HTTPS endpoint');
});
