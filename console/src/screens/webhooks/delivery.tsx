/** A delivery: its attempts and answers, and the request that is sent. */

import { operations } from '../../api/access';
import type { DeliveryDetail } from '../../api/client';
import { useRecord } from '../../api/queries';
import { ActionDialog } from '../../ui/action-dialog';
import { linkTo, useDialog } from '../../ui/address';
import { Attempts } from '../../ui/attempts';
import { CodeBlock, indentJson } from '../../ui/code-block';
import { CopyText } from '../../ui/copy-text';
import { DeliveryStatus } from '../../ui/delivery-status';
import { DialogButton } from '../../ui/dialog-buttons';
import { BackLink, PageHeader, Section } from '../../ui/page';
import { useCan, useOrganizationId } from '../../ui/place';
import { RecordView } from '../../ui/table';
import { Tile } from '../../ui/tile';
import { Time, TimeLabel } from '../../ui/time';
import { useDeliveryId, useWebhookId } from './address';

/** The screen. */
export default function DeliveryScreen() {
  const organizationId = useOrganizationId();
  const webhookId = useWebhookId();
  const deliveryId = useDeliveryId();
  const { name, close } = useDialog();
  const canRetry = useCan(operations.retry_webhook_delivery);
  const query = useRecord(
    ['organizations', organizationId, 'webhooks', webhookId, 'deliveries', deliveryId],
    (client, options) => client.organizations.webhooks.deliveries.get(organizationId, webhookId, deliveryId, options),
    { isLive: (delivery) => delivery.status === 'pending' },
  );
  const retryButton = canRetry && <DialogButton dialog="retry">Send again</DialogButton>;
  return (
    <RecordView query={query}>
      {(delivery) => (
        <>
          <BackLink path={`/o/${organizationId}/webhooks/${webhookId}`}>Deliveries of the webhook</BackLink>
          <PageHeader title={delivery.eventType} description={<Identity delivery={delivery} />} actions={retryButton} />
          <Facts delivery={delivery} />
          <Section title="Attempts">
            <Attempts delivery={delivery} renderAnswer={(label, text) => <CodeBlock label={label} text={text} />} />
          </Section>
          <Request request={delivery.request} />
          {name === 'retry' && <RetryDialog onClose={close} />}
        </>
      )}
    </RecordView>
  );
}

function Identity({ delivery }: { delivery: DeliveryDetail }) {
  const organizationId = useOrganizationId();
  return (
    <>
      <a href={linkTo(`/o/${organizationId}/log/${delivery.eventId}`)}>Log entry</a>{' '}
      <CopyText text={delivery.eventId} label="Copy the id" />
    </>
  );
}

function Facts({ delivery }: { delivery: DeliveryDetail }) {
  return (
    <dl class="tiles">
      <Tile label="Status">
        <DeliveryStatus status={delivery.status} />
      </Tile>
      <Tile label="Attempts">{delivery.attempts.length}</Tile>
      <Tile label={<TimeLabel>Queued</TimeLabel>}>
        <Time value={delivery.createdAt} />
      </Tile>
      {delivery.nextAttemptAt ? (
        <Tile label={<TimeLabel>Next attempt</TimeLabel>}>
          <Time value={delivery.nextAttemptAt} />
        </Tile>
      ) : (
        <Tile label={<TimeLabel>Completed</TimeLabel>}>
          <Time value={delivery.completedAt} />
        </Tile>
      )}
    </dl>
  );
}

function Request({ request }: { request: DeliveryDetail['request'] }) {
  return (
    <Section title="Request" description="Each attempt sends the same body. Signatures are masked here.">
      <div class="stack">
        <CodeBlock label="Request line and headers" text={writeHead(request)} />
        {request.body === null ? (
          <p class="muted">The body is gone, because the entry of the log was erased.</p>
        ) : (
          <CodeBlock label="Request body" text={indentJson(request.body)} />
        )}
      </div>
    </Section>
  );
}

function writeHead({ url, headers }: DeliveryDetail['request']): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`POST ${url}`, ...lines].join('\n');
}

function RetryDialog({ onClose }: { onClose: () => void }) {
  const organizationId = useOrganizationId();
  const webhookId = useWebhookId();
  const deliveryId = useDeliveryId();
  return (
    <ActionDialog
      title="Send the delivery again?"
      confirmLabel="Send again"
      isDangerous={false}
      call={(client, options) => client.organizations.webhooks.deliveries.retry(organizationId, webhookId, deliveryId, options)}
      changes={[['organizations', organizationId, 'webhooks', webhookId]]}
      doneText="The delivery is queued."
      onClose={onClose}
    >
      <p>The receiver gets the same message, with the same id. If the attempt fails, it is repeated like a new delivery.</p>
    </ActionDialog>
  );
}
