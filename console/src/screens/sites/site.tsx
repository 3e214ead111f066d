/** A site: its state, its address, and what crawlers may read. */

import { operations } from '../../api/access';
import type { Site } from '../../api/client';
import { linkTo, useDialog } from '../../ui/address';
import { DeleteSection } from '../../ui/delete-section';
import { Details } from '../../ui/details';
import { DialogButton, DialogButtons } from '../../ui/dialog-buttons';
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
          <DeleteSection rule={operations.delete_site} noun="site" description={`Visitors of ${site.host} get nothing from then on.`} />
          <Dialogs site={site} />
        </>
      )}
    </RecordView>
  );
}

function Actions({ site }: { site: Site }) {
  if (!useCan(operations.update_site)) return null;
  const isPublished = site.status === 'published';
  return (
    <>
      <DialogButton dialog="edit">Edit</DialogButton>
      <DialogButton dialog="status" kind={isPublished ? undefined : 'primary'}>{isPublished ? 'Unpublish' : 'Publish site'}</DialogButton>
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
        <Details
          items={[
            ['Host', site.status === 'published' ? <WebLink href={`https://${site.host}/`}>{site.host}</WebLink> : site.host],
            ['Slug', site.slug],
            ['Platform', site.platformId ? <a href={linkTo(`/p/${site.platformId}`)}>Open the platform</a> : 'None'],
          ]}
        />
      </Section>
    </>
  );
}

function Crawlers({ site }: { site: Site }) {
  const { disallow, extra } = site.robots;
  const actions = [
    { dialog: 'crawlers', text: 'Show robots.txt and sitemap' },
    { dialog: 'robots', text: 'Edit', isShown: useCan(operations.update_site) },
  ];
  return (
    <Section
      title="Crawlers"
      description="What search engines are asked to leave alone. It protects nothing: visitors can open these paths."
      actions={
        <span class="buttons">
          <DialogButtons actions={actions} />
        </span>
      }
    >
      <Details
        items={[
          ['Disallowed paths', disallow.length ? disallow.map((path) => <code class="line" key={path}>{path}</code>) : 'None'],
          ['Further lines', extra ? <pre class="verbatim">{extra}</pre> : 'None'],
        ]}
      />
    </Section>
  );
}

/** The dialog that the address names. */
function Dialogs({ site }: { site: Site }) {
  const { name, close } = useDialog();
  if (name === 'edit') return <SiteDialog onClose={close} />;
  if (name === 'robots') return <RobotsDialog onClose={close} />;
  if (name === 'crawlers') return <CrawlersDialog site={site} onClose={close} />;
  if (name === 'status') return <StatusDialog site={site} onClose={close} />;
  return name === 'delete' ? <DeleteSiteDialog site={site} onClose={close} /> : null;
}
