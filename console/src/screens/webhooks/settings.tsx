/** The settings of a webhook. */

import { operations } from '../../api/access';
import type { Webhook } from '../../api/client';
import { CopyText } from '../../ui/copy-text';
import { Details, timeDetail } from '../../ui/details';
import { DialogButton } from '../../ui/dialog-buttons';
import { EventPatterns } from '../../ui/event-patterns';
import { Section } from '../../ui/page';
import { useCan } from '../../ui/place';

/** The settings of a webhook, and the actions that change its secret or delete it. */
export function Settings({ webhook }: { webhook: Webhook }) {
  return (
    <>
      <Details
        items={[
          ['URL', <CopyText text={webhook.url} label="Copy the URL" />],
          ['Description', webhook.description],
          ['Events', <EventPatterns patterns={webhook.events} />],
          ['Areas', webhook.areas && <Areas areas={webhook.areas} />],
          ['Id', <CopyText text={webhook.id} label="Copy id" />],
          timeDetail('Created', webhook.createdAt),
          timeDetail('Changed', webhook.updatedAt),
          ...(webhook.formerSecretsUntil ? [timeDetail('Former secret until', webhook.formerSecretsUntil)] : []),
        ]}
      />
      <SecretSection />
      <DeleteSection />
    </>
  );
}

function Areas({ areas }: { areas: readonly string[] }) {
  return (
    <>
      {areas.join(', ')}
      <p class="small muted">An API key changed the webhook last. It receives only events that this key may read.</p>
    </>
  );
}

function SecretSection() {
  const canRotate = useCan(operations.rotate_webhook_secret);
  if (!canRotate) return null;
  return (
    <Section title="Secret" description="It signs each message. The receiver uses it to verify that the message comes from this service.">
      <DialogButton dialog="rotate">Replace secret</DialogButton>
    </Section>
  );
}

function DeleteSection() {
  const canDelete = useCan(operations.delete_webhook);
  if (!canDelete) return null;
  return (
    <Section title="Delete" description="To stop deliveries for some time only, pause the webhook instead.">
      <DialogButton dialog="delete" kind="danger">Delete webhook</DialogButton>
    </Section>
  );
}
