/** States of webhooks as words and colours. */

import type { Webhook } from '../../api/client';
import { Status } from '../../ui/status';

/** Show the state of a webhook. An active one whose last attempts failed is failing. */
export function WebhookState({ webhook }: { webhook: Webhook }) {
  if (webhook.status === 'disabled') return <Status tone="bad">Disabled</Status>;
  if (webhook.status === 'paused') return <Status tone="neutral">Paused</Status>;
  return webhook.failingSince ? <Status tone="warning">Failing</Status> : <Status tone="good">Active</Status>;
}
