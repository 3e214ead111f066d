/** The webhook of a signed link: its state, what it delivered lately, a test, and the rotation of its secret. */

import { useEffect, useState } from 'preact/hooks';
import type { AttemptCounts, Webhook, WebhookStatistics } from '../api/client';
import { Details, timeDetail } from '../ui/details';
import { Failed, Loading, Problem } from '../ui/states';
import { Status, toWords, type Tone } from '../ui/status';
import { Tile } from '../ui/tile';
import { ZoneSwitch } from '../ui/time';
import { showToast } from '../ui/toast';
import { Deliveries } from './deliveries';
import { useChange, useLink, useReading } from './link';
import { nameCreator } from './link-page';
import { RotateDialog } from './rotate-dialog';

interface WebhookPortalProps {
  organizationId: string;
  webhookId: string;
}

/** The page. */
export function WebhookPortal({ organizationId, webhookId }: WebhookPortalProps) {
  const { client, link } = useLink();
  const { webhooks } = client.organizations;
  const reading = useReading(webhookId, () => webhooks.get(organizationId, webhookId));
  // Read at the same time, and shown at the same time, so that nothing moves when the numbers arrive.
  const statistics = useReading(webhookId, () => webhooks.getStatistics(organizationId, webhookId));
  useEffect(() => void (document.title = 'Webhook · Atrium'), []);
  const webhook = reading.data;
  if (!webhook && reading.error) return <Failed error={reading.error} onRetry={() => void reading.reload()} />;
  if (!webhook || !(statistics.data || statistics.error)) return <Loading />;
  return (
    <>
      <header class="page-header">
        <div>
          <h1>Webhook of {link.organization.name}</h1>
          <p>
            <code>{webhook.url}</code>
            {webhook.description && <> · {webhook.description}</>}
          </p>
        </div>
        <Actions webhook={webhook} organizationId={organizationId} onChange={() => void reading.reload()} />
      </header>
      <State webhook={webhook} />
      {statistics.data && <Statistics statistics={statistics.data} />}
      <Deliveries organizationId={organizationId} webhookId={webhookId} />
      <p class="section small muted">
        {nameCreator(link)} of {link.organization.name} gave you this page. Their log shows what you do here.
      </p>
      <div class="small muted">
        <ZoneSwitch />
      </div>
    </>
  );
}

interface ActionsProps {
  webhook: Webhook;
  organizationId: string;
  onChange: () => void;
}

function Actions({ webhook, organizationId, onChange }: ActionsProps) {
  const { webhooks } = useLink().client.organizations;
  const [isRotating, setIsRotating] = useState(false);
  const test = useChange((_: null, options) => webhooks.test(organizationId, webhook.id, options), (result) =>
    showToast(
      result.delivered
        ? `The test message was delivered in ${result.durationMs} ms.`
        : `The test message failed: ${result.error ?? `status ${result.statusCode}`}`,
    ),
  );
  return (
    <div>
      <div class="buttons">
        <button type="button" class="button" disabled={test.isPending} onClick={() => test.run(null)}>
          {test.isPending ? 'Sending' : 'Send test message'}
        </button>
        <button type="button" class="button" onClick={() => setIsRotating(true)}>
          Rotate secret
        </button>
      </div>
      {test.error !== null && <Problem error={test.error} />}
      {isRotating && (
        <RotateDialog
          organizationId={organizationId}
          webhookId={webhook.id}
          onClose={() => {
            setIsRotating(false);
            onChange();
          }}
        />
      )}
    </div>
  );
}

const TONES: Record<Webhook['status'], Tone> = { active: 'good', paused: 'neutral', disabled: 'bad' };

function State({ webhook }: { webhook: Webhook }) {
  return (
    <>
      {webhook.disabledReason && <p class="notice bad">{webhook.disabledReason}</p>}
      <Details
        items={[
          ['Status', <Status tone={TONES[webhook.status]}>{toWords(webhook.status)}</Status>],
          ['Events', <code>{webhook.events.join(', ')}</code>],
          ...(webhook.failingSince ? [timeDetail('Failing since', webhook.failingSince)] : []),
          ...(webhook.formerSecretsUntil ? [timeDetail('Former secrets until', webhook.formerSecretsUntil)] : []),
        ]}
      />
    </>
  );
}

const PERIODS: readonly [keyof WebhookStatistics, string][] = [
  ['lastHour', 'Last hour'],
  ['lastDay', 'Last day'],
  ['lastWeek', 'Last week'],
];

function Statistics({ statistics }: { statistics: WebhookStatistics }) {
  return (
    <dl class="tiles section">
      {PERIODS.map(([period, label]) => (
        <Tile key={period} label={label} note={describeDuration(statistics[period])}>
          {statistics[period].delivered} delivered, {statistics[period].failed} failed
        </Tile>
      ))}
    </dl>
  );
}

function describeDuration({ medianDurationMs }: AttemptCounts): string {
  return medianDurationMs === null ? 'No response' : `Median ${medianDurationMs} ms`;
}
