/** The replays of a webhook: deliveries of a time range that are sent again. */

import { operations } from '../../api/access';
import type { Replay, Webhook } from '../../api/client';
import { useList } from '../../api/queries';
import { DialogButton } from '../../ui/dialog-buttons';
import { isPendingJob, JobStatus } from '../../ui/job-status';
import { useCan, useOrganizationId } from '../../ui/place';
import { Empty } from '../../ui/states';
import { List, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { useWebhookId } from './address';

const COLUMNS: readonly Column<Replay>[] = [
  { title: 'Started', kind: 'time', render: (each) => <Time value={each.createdAt} /> },
  {
    title: 'Status',
    render: (each) => (
      <>
        <JobStatus status={each.status} />
        {each.error && <span class="sub">{each.error}</span>}
      </>
    ),
  },
  { title: 'Deliveries', render: (each) => each.deliveryStatus ?? 'failed and skipped' },
  { title: 'From', kind: 'time', render: (each) => <Time value={each.from} /> },
  { title: 'Until', kind: 'time', render: (each) => <Time value={each.to} /> },
  { title: 'Sent again', kind: 'number', render: (each) => describeCount(each) },
];

/** The list of replays, and the button that starts one. */
export function Replays({ webhook }: { webhook: Webhook }) {
  const organizationId = useOrganizationId();
  const webhookId = useWebhookId();
  const canReplay = useCan(operations.replay_webhook_deliveries) && webhook.status === 'active';
  const query = useList(
    ['organizations', organizationId, 'webhooks', webhookId, 'replays'],
    (client, page, options) => client.organizations.webhooks.replays.list(organizationId, webhookId, page, options),
    { isLive: (replays) => replays.some(isPendingJob) },
  );
  const button = canReplay && <DialogButton dialog="replay">Replay deliveries</DialogButton>;
  return (
    <>
      {query.items.length > 0 && <div class="filters">{button}</div>}
      <List
        query={query}
        noun="replay"
        columns={COLUMNS}
        getKey={(each) => each.id}
        empty={
          <Empty title="No replays yet" action={button}>
            After a receiver was down, a replay sends the deliveries of a time range again, the oldest first. A receiver
            recognizes repeated events by their id.
          </Empty>
        }
      />
    </>
  );
}

/** Return how many deliveries a replay queued. While it runs, the number is that of the deliveries that match. */
export function describeCount(replay: Pick<Replay, 'status' | 'requeued'>): string {
  const count = replay.requeued.toLocaleString('en');
  return isPendingJob(replay) ? `about ${count}` : count;
}
