/** The providers of channels. */

import type { Channel } from '../../api/client';

interface Provider {
  value: Channel['provider'];
  label: string;
  /** Where people find the URL for incoming messages. */
  source: string;
}

export const PROVIDERS: readonly Provider[] = [
  { value: 'slack', label: 'Slack', source: 'From the page “Incoming Webhooks” of your Slack app.' },
  { value: 'discord', label: 'Discord', source: 'From Edit channel → Integrations → Webhooks.' },
  { value: 'teams', label: 'Microsoft Teams', source: 'From a workflow that posts to a channel when it receives a webhook request.' },
  { value: 'webhook', label: 'Other', source: 'An https address that accepts a JSON object with a text.' },
];

/** Return the name of a provider. */
export function providerName(provider: Channel['provider']): string {
  return PROVIDERS.find((each) => each.value === provider)?.label ?? provider;
}
