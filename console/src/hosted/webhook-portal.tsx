/** The page of a signed link to a webhook: its deliveries, retries, tests and the rotation of its secret. */

import { render } from 'preact';
import { LinkPage } from './link-page';
import { followNewLinks, takeToken } from './token';
import { WebhookPortal } from './webhook-page';

// The first statement removes the token from the address, before anything else can read or send it.
const token = takeToken('webhook-portal');
followNewLinks();

const root = document.getElementById('page');
if (root) {
  render(
    <LinkPage type="webhook" token={token}>
      {(link) => <WebhookPortal organizationId={link.organizationId} webhookId={link.webhookId ?? ''} />}
    </LinkPage>,
    root,
  );
}
