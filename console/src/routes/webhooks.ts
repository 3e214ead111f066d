/** The screens of integrations: webhooks, log streams, channels and event types. */

import { operations } from '../api/access';
import type { Route } from './route';

export const WEBHOOK_ROUTES: readonly Route[] = [
  {
    path: '/o/:organization/webhooks',
    title: 'Webhooks',
    access: operations.list_webhooks,
    group: 'Integrations',
    load: () => import('../screens/webhooks/webhooks'),
  },
  {
    path: '/o/:organization/webhooks/:webhook',
    title: 'Webhook',
    access: operations.get_webhook,
    load: () => import('../screens/webhooks/webhook'),
  },
  {
    path: '/o/:organization/webhooks/:webhook/deliveries/:delivery',
    title: 'Delivery',
    access: operations.get_webhook_delivery,
    load: () => import('../screens/webhooks/delivery'),
  },
  {
    path: '/o/:organization/log-streams',
    title: 'Log streams',
    access: operations.list_log_streams,
    group: 'Integrations',
    load: () => import('../screens/log-streams/log-streams'),
  },
  {
    path: '/o/:organization/log-streams/:stream',
    title: 'Log stream',
    access: operations.get_log_stream,
    load: () => import('../screens/log-streams/log-stream'),
  },
  {
    path: '/o/:organization/channels',
    title: 'Channels',
    access: operations.list_integration_channels,
    group: 'Integrations',
    load: () => import('../screens/channels/channels'),
  },
  {
    path: '/o/:organization/event-types',
    title: 'Event types',
    access: operations.list_event_types,
    group: 'Integrations',
    load: () => import('../screens/event-types/event-types'),
  },
  {
    path: '/o/:organization/event-types/:type',
    title: 'Event type',
    access: operations.get_event_type,
    load: () => import('../screens/event-types/event-type'),
  },
  {
    path: '/operate/event-types',
    title: 'Event types',
    access: operations.put_event_type,
    group: 'Operations',
    load: () => import('../screens/event-types/declared-types'),
  },
];
