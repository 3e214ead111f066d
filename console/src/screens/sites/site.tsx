/** A site: its state, its address, and what crawlers may read. */

import { operations } from '../../api/access';
import type { Site } from '../../api/client';
import { linkTo, useParameter } from '../../ui/address';
import { DialogButton } from '../../ui/dialog-buttons';
import { PageHeader, Section } from '../../ui/page';
import { useCan, useSite } from '../../ui/place';
import { RoleNotice } from '../../ui/role-notice';
import { RecordView } from '../../ui/table';
import { Tile } from '../../ui/tile';
import { Time, TimeLabel } from '../../ui/time';
import { WebLink } from '../../ui/web-link';
import { CrawlersDialog } from './crawlers-dialog';
import { RobotsDialog, SiteDialog } from './edit-dialogs';
import { DeleteSiteDialog, StatusDialog } from './site-dialogs';
import { SiteStatus } from './site-status';

/** The screen. */
export default function SiteOverview() {
  return (
    <RecordView query={useSite()}>
      {(site) => (
        <>
          <PageHeader title={site.name} description={site.description} actions={<Actions site={site} />} />
          <RoleNotice rule={operations.update_site}>You can read this site.</RoleNotice>
          <Facts site={site} />
          <Crawlers site={site} />
          <DeleteSection site={site} />
          <Dialogs site={site} />
        </>
      )}
    </RecordView>
  );
}

function Actions({ site }: { site: Site }) {
  const [, setDialog] = useParameter('dialog');
  if (!useCan(operations.update_site)) return null;
  const isPublished = site.status === 'published';
  return (
    <>
      <DialogButton dialog="edit">Edit</DialogButton>
      <button type="button" class={isPublished ? 'button' : 'button primary'} onClick={() => setDialog('status')}>
        {isPublished ? 'Unpublish' : 'Publish site'}
      </button>
    </>
  );
}

function Facts({ site }: { site: Site }) {
  return (
    <>
      <dl class="tiles">
        <Tile label="Status">
          <SiteStatus site={site} />
        </Tile>
        <Tile label={<TimeLabel>Published</TimeLabel>}>
          <Time value={site.publishedAt} />
        </Tile>
        <Tile label="Language">{site.defaultLocale}</Tile>
        <Tile label="Home page">
          {site.homePageId ? <a href={linkTo(`/s/${site.id}/pages/${site.homePageId}`)}>Open</a> : 'None yet'}
        </Tile>
      </dl>
      <Section title="Address">
        <dl class="details">
          <dt>Host</dt>
          <dd class="break">
            {site.status === 'published' ? <WebLink href={`https://${site.host}/`}>{site.host}</WebLink> : site.host}
          </dd>
          <dt>Slug</dt>
          <dd>{site.slug}</dd>
          <dt>Platform</dt>
          <dd>{site.platformId ? <a href={linkTo(`/p/${site.platformId}`)}>Open the platform</a> : 'None'}</dd>
        </dl>
      </Section>
    </>
  );
}

function Crawlers({ site }: { site: Site }) {
  const [, setDialog] = useParameter('dialog');
  const canUpdate = useCan(operations.update_site);
  const { disallow, extra } = site.robots;
  return (
    <Section
      title="Crawlers"
      description="What search engines are asked to leave alone. It protects nothing: visitors can open these paths."
      actions={
        <span class="buttons">
          <button type="button" class="quiet" onClick={() => setDialog('crawlers')}>
            Show robots.txt and sitemap
          </button>
          {canUpdate && (
            <button type="button" class="quiet" onClick={() => setDialog('robots')}>
              Edit
            </button>
          )}
        </span>
      }
    >
      <dl class="details">
        <dt>Disallowed paths</dt>
        <dd class="break">{disallow.length ? disallow.map((path) => <code class="line" key={path}>{path}</code>) : 'None'}</dd>
        <dt>Further lines</dt>
        <dd>{extra ? <pre class="verbatim">{extra}</pre> : 'None'}</dd>
      </dl>
    </Section>
  );
}

function DeleteSection({ site }: { site: Site }) {
  if (!useCan(operations.delete_site)) return null;
  return (
    <Section title="Delete the site" description={`Visitors of ${site.host} get nothing from then on.`}>
      <DialogButton dialog="delete">Delete site</DialogButton>
    </Section>
  );
}

/** The dialog that the address names. */
function Dialogs({ site }: { site: Site }) {
  const [dialog, setDialog] = useParameter('dialog');
  const close = () => setDialog(null);
  if (dialog === 'edit') return <SiteDialog onClose={close} />;
  if (dialog === 'robots') return <RobotsDialog onClose={close} />;
  if (dialog === 'crawlers') return <CrawlersDialog site={site} onClose={close} />;
  if (dialog === 'status') return <StatusDialog site={site} onClose={close} />;
  return dialog === 'delete' ? <DeleteSiteDialog site={site} onClose={close} /> : null;
}
