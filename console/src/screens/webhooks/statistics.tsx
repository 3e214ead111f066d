/** How often the receiver of a webhook accepted events, and how fast. */

import type { WebhookStatistics } from '../../api/client';
import { useRecord } from '../../api/queries';
import { useOrganizationId } from '../../ui/place';
import { RecordView, Table, type Column } from '../../ui/table';
import { useWebhookId } from './address';

interface Period {
  name: string;
  counts: WebhookStatistics['lastHour'];
}

const COLUMNS: readonly Column<Period>[] = [
  { title: 'Period', kind: 'primary', render: (each) => each.name },
  { title: 'Accepted', kind: 'number', render: (each) => each.counts.delivered.toLocaleString('en') },
  { title: 'Failed', kind: 'number', render: (each) => each.counts.failed.toLocaleString('en') },
  { title: 'Success', kind: 'number', render: (each) => describeSuccess(each.counts) },
  { title: 'Median duration', kind: 'number', render: (each) => describeDuration(each.counts.medianDurationMs) },
];

/** The numbers of attempts in the last hour, day and week. */
export function Statistics() {
  const organizationId = useOrganizationId();
  const webhookId = useWebhookId();
  const query = useRecord(
    ['organizations', organizationId, 'webhooks', webhookId, 'statistics'],
    (client, options) => client.organizations.webhooks.getStatistics(organizationId, webhookId, options),
    { isLive: () => true },
  );
  return (
    <RecordView query={query}>
      {({ lastHour, lastDay, lastWeek }) => (
        <>
          <Table
            caption="Attempts"
            columns={COLUMNS}
            getKey={(each) => each.name}
            items={[
              { name: 'Last hour', counts: lastHour },
              { name: 'Last day', counts: lastDay },
              { name: 'Last week', counts: lastWeek },
            ]}
          />
          <p class="small muted">
            Each attempt counts, also the repetitions. An attempt is accepted if the receiver answers with a status of
            2xx. Attempts without an answer have no duration.
          </p>
        </>
      )}
    </RecordView>
  );
}

/** Return the share of accepted attempts. It is 100 % only if none failed. */
export function describeSuccess({ delivered, failed }: Period['counts']): string {
  const total = delivered + failed;
  return total === 0 ? '–' : `${Math.floor((delivered / total) * 1000) / 10} %`;
}

function describeDuration(milliseconds: number | null): string {
  return milliseconds === null ? '–' : `${milliseconds.toLocaleString('en')} ms`;
}
