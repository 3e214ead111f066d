import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { verifyWebhook, WebhookVerificationError, type WebhookEvent } from '../src/webhooks.ts';

const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const FORMER = `whsec_${Buffer.alloc(32, 2).toString('base64')}`;
const BODY = JSON.stringify({ type: 'organization.updated', sequence: 4, data: { name: 'Zoë' } });

function headersOf(secrets: string[], secondsAgo = 0): Record<string, string> {
  const time = new Date(Date.now() - secondsAgo * 1000);
  return {
    'webhook-id': 'm1',
    'webhook-timestamp': String(Math.floor(time.getTime() / 1000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign('m1', time, BODY)).join(' '),
  };
}

test('the event of a signed message is returned with its type', () => {
  const event: WebhookEvent = verifyWebhook(BODY, headersOf([SECRET]), SECRET);
  assert.equal(event.type === 'organization.updated' && event.data.name, 'Zoë');
});

test('bodies can be bytes, and headers those of Fetch or of Node', () => {
  const headers = headersOf([SECRET]);
  assert.ok(verifyWebhook(new TextEncoder().encode(BODY), new Headers(headers), SECRET));
  const upperCase = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
  assert.ok(verifyWebhook(Buffer.from(BODY), { ...upperCase, 'x-absent': undefined, 'x-list': ['a', 'b'] }, SECRET));
});

test('during a rotation both secrets verify a message, and a receiver can have both', () => {
  const rotated = headersOf([FORMER, SECRET]);
  assert.ok(verifyWebhook(BODY, rotated, SECRET));
  assert.ok(verifyWebhook(BODY, rotated, FORMER));
  assert.ok(verifyWebhook(BODY, headersOf([FORMER]), [SECRET, FORMER]));
});

test('events of types of your own have the form that you name', () => {
  interface Shipped {
    type: 'order.shipped';
    data: { order: number };
  }
  const event = verifyWebhook<Shipped>(BODY, headersOf([SECRET]), SECRET);
  assert.equal(event.data.order, undefined);
});

test('other messages are rejected', () => {
  const headers = headersOf([SECRET]);
  const { 'webhook-signature': _, ...unsigned } = headers;
  const rejected: [string, Record<string, string>, string | string[]][] = [
    [BODY, headers, FORMER],
    [BODY, headers, []],
    [BODY.replace('Zoë', 'Zoe'), headers, [FORMER, SECRET]],
    [BODY, { ...headers, 'webhook-id': 'm2' }, SECRET],
    [BODY, headersOf([SECRET], 310), SECRET],
    [BODY, headersOf([SECRET], -400), SECRET],
    [BODY, unsigned, SECRET],
  ];
  for (const each of rejected) assert.throws(() => verifyWebhook(...each), WebhookVerificationError);
});
