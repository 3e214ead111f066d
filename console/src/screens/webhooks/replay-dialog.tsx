/** The dialog that replays deliveries, and shows how far the replay is. */

import type { Replay, ReplayCreate } from '../../api/client';
import { useRecord } from '../../api/queries';
import { linkTo } from '../../ui/address';
import { Dialog } from '../../ui/dialog';
import { ChoiceField, type Values } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';
import { isPendingJob, JobStatus } from '../../ui/job-status';
import { useOrganizationId } from '../../ui/place';
import { TimeField } from '../../ui/time-field';
import { useWebhookId } from './address';
import { describeCount } from './replays';

const DAY_MS = 86_400_000;
const STATUSES = [
  { value: '', label: 'Failed and skipped', hint: 'What the receiver missed.' },
  { value: 'failed', label: 'Failed' },
  { value: 'skipped', label: 'Skipped', hint: 'What occurred while the webhook was paused or disabled.' },
  { value: 'pending', label: 'Pending', hint: 'What waits for its next attempt is sent at once.' },
  { value: 'succeeded', label: 'Succeeded', hint: 'For a receiver that lost its data.' },
];

function toBody({ from = '', to, status }: Values): ReplayCreate {
  return { from, to: to || null, status: (status || null) as 'failed' | null };
}

/** Return a day ago, to the minute. */
function yesterday(): string {
  return new Date(Math.floor((Date.now() - DAY_MS) / 60_000) * 60_000).toISOString();
}

/** Replay deliveries. */
export function ReplayDialog({ onClose }: { onClose: () => void }) {
  const organizationId = useOrganizationId();
  const webhookId = useWebhookId();
  return (
    <FormDialog
      title="Replay deliveries"
      name="replay"
      initial={{ from: yesterday(), to: '', status: '' }}
      submitLabel="Replay"
      call={(client, values, options) => client.organizations.webhooks.replay(organizationId, webhookId, toBody(values), options)}
      changes={[['organizations', organizationId, 'webhooks', webhookId]]}
      renderResult={(result) => <ProgressDialog replay={result} />}
      onClose={onClose}
    >
      {() => (
        <>
          <TimeField name="from" label="Events from" required />
          <TimeField name="to" label="Until" hint="If empty, until now." />
          <ChoiceField name="status" label="Deliveries" choices={STATUSES} />
        </>
      )}
    </FormDialog>
  );
}

function ProgressDialog({ replay }: { replay: Replay }) {
  const organizationId = useOrganizationId();
  const webhookId = useWebhookId();
  const query = useRecord(
    ['organizations', organizationId, 'webhooks', webhookId, 'replays', replay.id],
    (client, options) => client.organizations.webhooks.replays.get(organizationId, webhookId, replay.id, options),
    { isLive: isPendingJob },
  );
  const current = query.data?.data ?? replay;
  const path = `/o/${organizationId}/webhooks/${webhookId}`;
  const openReplays = () => (location.hash = linkTo(path, { view: 'replays' }));
  return (
    <Dialog title="The replay has started" onClose={openReplays}>
      <div role="status">
        <JobStatus status={current.status} />
        <p>
          {describeCount(current)} deliveries {isPendingJob(current) ? 'match' : 'are sent again'}.
        </p>
        {current.error && <p>{current.error}</p>}
      </div>
      <p class="muted">The replay continues when you close this.</p>
      <div class="dialog-footer">
        <a class="button" href={linkTo(path)}>
          See deliveries
        </a>
        <button type="button" class="button primary" onClick={openReplays}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
