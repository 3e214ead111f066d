/** A webhook: its state, its deliveries, replays and statistics, and what it can be told to do. */

import { operations } from '../../api/access';
import type { Webhook } from '../../api/client';
import { useRecord } from '../../api/queries';
import { linkTo, useChoice } from '../../ui/address';
import { DialogButtons } from '../../ui/dialog-buttons';
import { lazyDialogs } from '../../ui/lazy-dialogs';
import { BackLink, PageHeader } from '../../ui/page';
import { useCan, useOrganizationId } from '../../ui/place';
import { RecordView } from '../../ui/table';
import { Tabs } from '../../ui/tabs';
import { useWebhookId } from './address';
import { Deliveries } from './deliveries';
import { Replays } from './replays';
import { Settings } from './settings';
import { Statistics } from './statistics';
import { WebhookNotice } from './webhook-notice';
import { WebhookState } from './states';

const TABS = { deliveries: 'Deliveries', replays: 'Replays', statistics: 'Statistics', settings: 'Settings' } as const;
const VIEWS = Object.keys(TABS) as (keyof typeof TABS)[];

/** Return whether the service is probing a webhook, so that its state changes without the user. */
const isFailing = ({ status, failingSince }: Webhook) => status === 'active' && failingSince !== null;

const WebhookDialogs = lazyDialogs(() => import('./webhook-dialogs'));

/** The screen. */
export default function WebhookScreen() {
  const organizationId = useOrganizationId();
  const webhookId = useWebhookId();
  const query = useRecord(
    ['organizations', organizationId, 'webhooks', webhookId],
    (client, options) => client.organizations.webhooks.get(organizationId, webhookId, options),
    { isLive: isFailing },
  );
  const [view = 'deliveries'] = useChoice('view', VIEWS);
  return (
    <RecordView query={query}>
      {(webhook) => (
        <>
          <BackLink path={`/o/${organizationId}/webhooks`}>Webhooks</BackLink>
          <PageHeader title={nameOf(webhook)} description={<Description webhook={webhook} />} actions={<Actions />} />
          <WebhookNotice webhook={webhook} />
          <Tabs label="Parts of the webhook" tabs={tabsOf(`/o/${organizationId}/webhooks/${webhookId}`, view)} />
          {view === 'deliveries' && <Deliveries />}
          {view === 'replays' && <Replays webhook={webhook} />}
          {view === 'statistics' && <Statistics />}
          {view === 'settings' && <Settings webhook={webhook} />}
          <WebhookDialogs webhook={webhook} />
        </>
      )}
    </RecordView>
  );
}

/** Return the links to the parts of the screen. The first one is open without a parameter. */
function tabsOf(path: string, current: string) {
  return VIEWS.map((view, index) => ({
    href: linkTo(path, { view: index === 0 ? null : view }),
    title: TABS[view],
    isCurrent: view === current,
  }));
}

/** Return what a webhook is called: the host and the path of its URL. */
function nameOf({ url }: Webhook): string {
  return url.replace(/^https?:\/\//, '').replace(/\?.*$/, '');
}

function Description({ webhook }: { webhook: Webhook }) {
  return (
    <>
      <WebhookState webhook={webhook} />
      {webhook.description && <> · {webhook.description}</>}
    </>
  );
}

function Actions() {
  const actions = [
    { dialog: 'test', text: 'Send test', isShown: useCan(operations.test_webhook) },
    { dialog: 'link', text: 'Share link', isShown: useCan(operations.create_webhook_link) },
    { dialog: 'edit', text: 'Edit', isShown: useCan(operations.update_webhook) },
  ];
  return <DialogButtons actions={actions} />;
}
