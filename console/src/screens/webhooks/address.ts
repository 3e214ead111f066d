/** The ids in the addresses of the screens of webhooks. */

import { useParams } from 'wouter-preact';

interface WebhookParameters {
  webhook?: string;
  delivery?: string;
}

/** Return the id in the address of the webhook of this screen. */
export function useWebhookId(): string {
  return useParams<WebhookParameters>().webhook ?? '';
}

/** Return the id in the address of the delivery of this screen. */
export function useDeliveryId(): string {
  return useParams<WebhookParameters>().delivery ?? '';
}
