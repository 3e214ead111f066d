/** The page of a signed link to a custom domain: the DNS records that it needs, and what the service observes. */

import { render } from 'preact';
import { DomainSetup } from './domain-page';
import { LinkPage } from './link-page';
import { followNewLinks, takeToken } from './token';

// The first statement removes the token from the address, before anything else can read or send it.
const token = takeToken('domain-setup');
followNewLinks();

const root = document.getElementById('page');
if (root) {
  render(
    <LinkPage type="custom_domain" token={token}>
      {(link) => <DomainSetup platformId={link.platformId ?? ''} />}
    </LinkPage>,
    root,
  );
}
