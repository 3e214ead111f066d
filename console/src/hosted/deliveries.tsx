/** The deliveries of the webhook of a signed link: live, with their attempts, and a retry. */

import { useState } from 'preact/hooks';
import type { Delivery, DeliveryDetail, ListPage } from '../api/client';
import { Attempts } from '../ui/attempts';
import { DeliveryStatus } from '../ui/delivery-status';
import { Dialog } from '../ui/modal';
import { Section } from '../ui/page';
import { Empty, Failed, Loading, Problem } from '../ui/states';
import { toWords } from '../ui/status';
import { Table, type Column } from '../ui/table';
import { Time } from '../ui/time';
import { showToast } from '../ui/toast';
import { useChange, useLink, useReading } from './link';

const STATUSES = ['pending', 'succeeded', 'failed', 'skipped'] as const;
type Status = (typeof STATUSES)[number];

interface DeliveriesProps {
  organizationId: string;
  webhookId: string;
}

/** Read the deliveries with a status, page by page. The pages that are shown are read again while one is pending. */
function useDeliveries({ organizationId, webhookId }: DeliveriesProps, status: Status | undefined) {
  const { webhooks } = useLink().client.organizations;
  const [count, setCount] = useState(1);
  const read = async () => {
    const items: Delivery[] = [];
    let cursor: string | null = null;
    for (let page = 0; page === 0 || (page < count && cursor); page++) {
      const query = { status, cursor: cursor ?? undefined };
      const answer: ListPage<Delivery> = await webhooks.deliveries.list(organizationId, webhookId, query).then();
      items.push(...answer.items);
      cursor = answer.nextCursor;
    }
    return { status, items, hasMore: cursor !== null };
  };
  const isLive = ({ items }: { items: Delivery[] }) => items.some((each) => each.status === 'pending');
  return { ...useReading(`${status ?? ''} ${count}`, read, isLive), showMore: () => setCount(count + 1) };
}

/** Return the columns. `open` shows one delivery. */
function columnsOf(open: (id: string) => void): readonly Column<Delivery>[] {
  return [
    {
      title: 'Event',
      kind: 'primary',
      render: (each) => (
        <button type="button" class="link" onClick={() => open(each.id)}>
          <code>{each.eventType}</code>
        </button>
      ),
    },
    { title: 'Status', render: (each) => <DeliveryStatus status={each.status} /> },
    { title: 'Attempts', kind: 'number', render: (each) => each.attempts.length },
    { title: 'Last answer', render: (each) => describeLastAnswer(each) },
    { title: 'Created', kind: 'time', render: (each) => <Time value={each.createdAt} /> },
  ];
}

/** The list. */
export function Deliveries(place: DeliveriesProps) {
  const [status, setStatus] = useState<Status | undefined>();
  const [openId, setOpenId] = useState<string | null>(null);
  const deliveries = useDeliveries(place, status);
  const { data, error, isStale } = deliveries;
  // Deliveries with another status do not stay beside a failure.
  const items = error !== null && data?.status !== status ? [] : (data?.items ?? []);
  const title = status ? `No delivery is ${status}` : 'No deliveries yet';
  return (
    <Section title="Deliveries" description="Each event that was sent to the webhook, for 90 days. Open one to see its attempts.">
      <StatusFilter value={status} onChange={setStatus} />
      {error !== null && <Failed error={error} onRetry={() => void deliveries.reload()} />}
      {items.length > 0 && <Table caption="Deliveries" columns={columnsOf(setOpenId)} items={items} getKey={(each) => each.id} isStale={isStale} />}
      {items.length === 0 && error === null && (data && !isStale ? <Empty title={title}>Each event that matches becomes a delivery.</Empty> : <Loading />)}
      {items.length > 0 && data?.hasMore && (
        <div class="list-footer">
          <button type="button" class="button" disabled={isStale && error === null} onClick={deliveries.showMore}>
            {isStale && error === null ? 'Loading' : 'Load more'}
          </button>
        </div>
      )}
      {openId && <DeliveryDialog {...place} deliveryId={openId} onClose={() => setOpenId(null)} onRetried={() => void deliveries.reload()} />}
    </Section>
  );
}

function StatusFilter({ value, onChange }: { value: Status | undefined; onChange: (value: Status | undefined) => void }) {
  return (
    <div class="filters">
      <label>
        Status
        <select value={value ?? ''} onChange={(event) => onChange(STATUSES.find((each) => each === event.currentTarget.value))}>
          <option value="">All</option>
          {STATUSES.map((each) => (
            <option key={each} value={each}>
              {toWords(each)}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

function describeLastAnswer({ attempts }: Delivery): string {
  const last = attempts.at(-1);
  if (!last) return 'None yet';
  return last.statusCode === null ? (last.error ?? 'No response') : `Answer ${last.statusCode}`;
}

interface DeliveryDialogProps extends DeliveriesProps {
  deliveryId: string;
  onClose: () => void;
  onRetried: () => void;
}

/** One delivery: its attempts, the request, and a retry. */
function DeliveryDialog({ organizationId, webhookId, deliveryId, onClose, onRetried }: DeliveryDialogProps) {
  const { deliveries } = useLink().client.organizations.webhooks;
  const reading = useReading(
    deliveryId,
    () => deliveries.get(organizationId, webhookId, deliveryId),
    (delivery) => delivery.status === 'pending',
  );
  const retry = useChange(
    (_: null, options) => deliveries.retry(organizationId, webhookId, deliveryId, options),
    async () => {
      showToast('The delivery is sent again.');
      onRetried();
      await reading.reload();
    },
  );
  const delivery = reading.data;
  return (
    <Dialog title={delivery?.eventType ?? 'Delivery'} onClose={onClose} isWide>
      {retry.error !== null && <Problem error={retry.error} />}
      {delivery ? <DeliveryFacts delivery={delivery} /> : reading.error ? <Failed error={reading.error} /> : <Loading />}
      <div class="dialog-footer">
        <button type="button" class="button" onClick={onClose}>
          Close
        </button>
        <button type="button" class="button primary" disabled={!delivery || retry.isPending} onClick={() => retry.run(null)}>
          {retry.isPending ? 'Working' : 'Retry'}
        </button>
      </div>
    </Dialog>
  );
}

function renderAnswer(label: string, text: string) {
  return (
    <pre class="code-block" aria-label={label} tabIndex={0}>
      {text}
    </pre>
  );
}

function DeliveryFacts({ delivery }: { delivery: DeliveryDetail }) {
  const { url, headers, body } = delivery.request;
  return (
    <>
      <DeliveryStatus status={delivery.status} />
      <Attempts delivery={delivery} renderAnswer={renderAnswer} />
      <h3>Request</h3>
      <pre class="code-block" tabIndex={0}>
        {[`POST ${url}`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), '', body ?? ''].join('\n')}
      </pre>
    </>
  );
}
