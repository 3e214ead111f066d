/** The deliveries of a webhook, read again while some of them are pending. */

import type { Delivery } from '../../api/client';
import { useList } from '../../api/queries';
import { linkTo, useChoice, useParameter } from '../../ui/address';
import { DeliveryStatus } from '../../ui/delivery-status';
import { EventTypeFilter } from '../../ui/event-type-filter';
import { SelectFilter } from '../../ui/filters';
import { useOrganizationId } from '../../ui/place';
import { Empty } from '../../ui/states';
import { List, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { TimeFilter } from '../../ui/time-filter';
import { useWebhookId } from './address';

const STATUSES = ['pending', 'succeeded', 'failed', 'skipped'] as const;

/** The deliveries that the filters in the address select. */
export function Deliveries() {
  const organizationId = useOrganizationId();
  const webhookId = useWebhookId();
  const [status] = useChoice('status', STATUSES);
  const [eventType] = useParameter('type');
  const [from] = useParameter('from');
  const [to] = useParameter('to');
  const filter = { status, eventType: eventType ?? undefined, from: from ?? undefined, to: to ?? undefined };
  const query = useList(
    ['organizations', organizationId, 'webhooks', webhookId, 'deliveries', filter],
    (client, page, options) => client.organizations.webhooks.deliveries.list(organizationId, webhookId, { ...page, ...filter }, options),
    { isLive: (deliveries) => deliveries.some((each) => each.status === 'pending') },
  );
  const isFiltered = Boolean(status ?? eventType ?? from ?? to);
  return (
    <>
      <Filters />
      <List
        query={query}
        noun="delivery"
        columns={useColumns()}
        getKey={(each) => each.id}
        empty={
          isFiltered ? (
            <Empty title="No delivery matches">Change the filters, or remove them.</Empty>
          ) : (
            <Empty title="No deliveries yet">
              Each event that the webhook receives is listed here for 90 days, with all attempts and answers. Send a test
              to see whether the receiver works.
            </Empty>
          )
        }
      />
    </>
  );
}

function Filters() {
  return (
    <div class="filters">
      <SelectFilter parameter="status" label="Status" choices={STATUSES} />
      <EventTypeFilter parameter="type" />
      <TimeFilter parameter="from" label="From" />
      <TimeFilter parameter="to" label="Until" />
    </div>
  );
}

function useColumns(): readonly Column<Delivery>[] {
  const path = `/o/${useOrganizationId()}/webhooks/${useWebhookId()}/deliveries`;
  return [
    {
      title: 'Event',
      kind: 'primary',
      render: (each) => (
        <a href={linkTo(`${path}/${each.id}`)}>
          <code>{each.eventType}</code>
        </a>
      ),
    },
    { title: 'Status', render: (each) => <DeliveryStatus status={each.status} /> },
    { title: 'Last answer', render: (each) => <LastAnswer delivery={each} /> },
    { title: 'Attempts', render: (each) => each.attempts.length },
    { title: 'Queued', kind: 'time', render: (each) => <Time value={each.createdAt} /> },
    { title: 'Next attempt', kind: 'time', render: (each) => each.nextAttemptAt && <Time value={each.nextAttemptAt} /> },
  ];
}

function LastAnswer({ delivery }: { delivery: Delivery }) {
  const last = delivery.attempts.at(-1);
  if (!last) return <span class="muted">None</span>;
  return (
    <span class="break">
      {last.statusCode ?? last.error ?? 'No response'} <span class="muted">{last.durationMs} ms</span>
    </span>
  );
}
