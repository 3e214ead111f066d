/** What is wrong with a webhook, and what to do about it. */

import type { Webhook } from '../../api/client';
import { DialogButton } from '../../ui/dialog-buttons';
import { Time, ZoneName } from '../../ui/time';

/** Show why a webhook gets nothing, or gets it late. Shows nothing if all is well. */
export function WebhookNotice({ webhook }: { webhook: Webhook }) {
  if (webhook.status === 'disabled') {
    return (
      <Notice tone="bad" title="The service disabled this webhook." hasEnableButton>
        {webhook.disabledReason} Events are recorded as skipped meanwhile. Repair the receiver, turn the webhook on, and
        replay what it missed.
      </Notice>
    );
  }
  if (webhook.status === 'paused') {
    return (
      <Notice tone="warning" title="This webhook is paused." hasEnableButton>
        Events are recorded as skipped. Once the webhook is on again, a replay sends them.
      </Notice>
    );
  }
  if (!webhook.failingSince) return null;
  return (
    <Notice tone="warning" title="Every attempt fails.">
      Since <Time value={webhook.failingSince} /> <ZoneName />. Attempts are repeated with growing pauses. After five days
      without a success, the service disables the webhook.
    </Notice>
  );
}

interface NoticeProps {
  tone: 'warning' | 'bad';
  title: string;
  hasEnableButton?: boolean;
  children: preact.ComponentChildren;
}

function Notice({ tone, title, hasEnableButton = false, children }: NoticeProps) {
  return (
    <div class={`notice ${tone}`}>
      <strong>{title}</strong> {children}
      {hasEnableButton && (
        <div class="buttons">
          <DialogButton dialog="enable">Turn on</DialogButton>
        </div>
      )}
    </div>
  );
}
