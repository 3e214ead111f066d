/** Verification of the messages to a webhook, which Standard Webhooks specifies. */

import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import type { webhooks } from './generated/schema.ts';

export { WebhookVerificationError };

/** The type of a built-in event, such as `organization.member.updated`. */
export type WebhookEventType = keyof webhooks;

/** A message to a webhook: what happened, who did it, and the record after the change. */
export type WebhookEvent<Type extends WebhookEventType = WebhookEventType> = {
  [Each in Type]: webhooks[Each]['post']['requestBody']['content']['application/json'];
}[Type];

/** The headers of a request, in the forms of Fetch and of Node. */
export type MessageHeaders = Headers | Record<string, string | string[] | undefined>;

/**
 * Return the event of a message, after verifying its signature and that it is at most five minutes old.
 *
 * `body` is the body as it was received, not parsed. `secret` is that of the webhook, which begins with `whsec_`; while
 * it is being rotated, it can be a list of both. For events of your own types, name their form: `verifyWebhook<MyEvent>`.
 * Throws WebhookVerificationError.
 */
export function verifyWebhook<Event = WebhookEvent>(
  body: string | Uint8Array,
  headers: MessageHeaders,
  secret: string | readonly string[],
): Event {
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const secrets = typeof secret === 'string' ? [secret] : secret;
  const normalized = normalizeHeaders(headers);
  let failure: unknown = new WebhookVerificationError('No secret was given');
  for (const each of secrets) {
    try {
      return new Webhook(each).verify(text, normalized) as Event;
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error;
      failure = error;
    }
  }
  throw failure;
}

function normalizeHeaders(headers: MessageHeaders): Record<string, string> {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  const present = entries.filter(([, value]) => value !== undefined);
  return Object.fromEntries(present.map(([name, value]) => [name.toLowerCase(), String(value)]));
}
