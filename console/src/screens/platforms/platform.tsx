/** The start page of a platform: its status, its address, what is still missing, and its settings. */

import { operations } from '../../api/access';
import type { Platform } from '../../api/client';
import { useRecord } from '../../api/queries';
import { linkTo } from '../../ui/address';
import { CopyButton } from '../../ui/copy';
import { CopyText } from '../../ui/copy-text';
import { DeleteSection } from '../../ui/delete-section';
import { Details } from '../../ui/details';
import { DialogButton } from '../../ui/dialog-buttons';
import { DomainStatus } from '../../ui/dns-records';
import { PageHeader, Section } from '../../ui/page';
import { useCan, usePlatform, useRole } from '../../ui/place';
import { RoleNotice } from '../../ui/role-notice';
import { Status, toWords } from '../../ui/status';
import { RecordView } from '../../ui/table';
import { Tile } from '../../ui/tile';
import { Time, TimeLabel } from '../../ui/time';
import { PlatformDialogs } from './platform-dialogs';

/** The screen. */
export default function PlatformOverview() {
  return (
    <RecordView query={usePlatform()}>
      {(platform) => (
        <>
          <PageHeader title={platform.name} description={platform.description ?? undefined} actions={<Actions platform={platform} />} />
          <RoleNotice rule={operations.update_platform}>You can read the settings of this platform.</RoleNotice>
          <Facts platform={platform} />
          <Checklist platform={platform} />
          <Settings platform={platform} />
          <PlatformDialogs platform={platform} />
        </>
      )}
    </RecordView>
  );
}

function Actions({ platform }: { platform: Platform }) {
  const canPublish = useCan(operations.publish_platform);
  if (!canPublish) return null;
  if (platform.status === 'published') return <DialogButton dialog="unpublish">Unpublish</DialogButton>;
  return <DialogButton dialog="publish" kind="primary">Publish</DialogButton>;
}

function Facts({ platform }: { platform: Platform }) {
  const role = useRole();
  const isPublished = platform.status === 'published';
  return (
    <dl class="tiles">
      <Tile label="Status">
        <Status tone={isPublished ? 'good' : 'neutral'}>{toWords(platform.status)}</Status>
      </Tile>
      {isPublished && (
        <Tile label={<TimeLabel>Published</TimeLabel>}>
          <Time value={platform.publishedAt} />
        </Tile>
      )}
      <Tile label="Who can join">{platform.joinPolicy === 'open' ? 'Everybody' : 'Invited people'}</Tile>
      <Tile label="Your role">{role && toWords(role)}</Tile>
    </dl>
  );
}

/** What people would miss on the platform, by the screen on which it is added. */
function missingParts({ id, theme, navigation, home, description }: Platform): { text: string; href: string }[] {
  const parts = [
    { isMissing: !description, text: 'A description', href: linkTo(`/p/${id}`, { dialog: 'settings' }) },
    { isMissing: Object.keys(theme.colors).length === 0, text: 'Colours', href: linkTo(`/p/${id}/theme`) },
    { isMissing: navigation.items.length === 0, text: 'A navigation', href: linkTo(`/p/${id}/navigation`) },
    { isMissing: home.blocks.length === 0 && !home.spaceId && !home.siteId, text: 'A home page', href: linkTo(`/p/${id}/home`) },
  ];
  return parts.filter((part) => part.isMissing);
}

function Checklist({ platform }: { platform: Platform }) {
  const missing = missingParts(platform);
  if (missing.length === 0 && platform.warnings.length === 0) return null;
  return (
    <Section title="Before people come">
      {missing.length > 0 && (
        <p class="notice">
          Still missing:{' '}
          {missing.map(({ text, href }, index) => (
            <>
              {index > 0 && ', '}
              <a href={href}>{text.toLowerCase()}</a>
            </>
          ))}
          . You can publish without them.
        </p>
      )}
      {platform.warnings.map(({ pointer, detail }) => (
        <p key={pointer + detail} class="notice warning">
          {toWords(detail)} <a href={linkTo(`/p/${platform.id}/theme`)}>Open the theme</a>
        </p>
      ))}
    </Section>
  );
}

function Settings({ platform }: { platform: Platform }) {
  const canUpdate = useCan(operations.update_platform);
  const { id, name, slug, subdomain, defaultLocale } = platform;
  return (
    <>
      <Section title="Settings" actions={canUpdate && <DialogButton dialog="settings">Edit</DialogButton>}>
        <Details
          items={[
            ['Name', name],
            ['Slug', slug],
            [
              'Subdomain',
              <>
                {subdomain} <CopyButton text={subdomain} label="Copy subdomain" />
              </>,
            ],
            ['Custom domain', <CustomDomain platformId={id} />],
            ['Default locale', defaultLocale],
            ['Id', <CopyText text={id} label="Copy id" />],
          ]}
        />
      </Section>
      <DeleteSection rule={operations.delete_platform} noun="platform" description="A deleted platform cannot be restored." />
    </>
  );
}

function CustomDomain({ platformId }: { platformId: string }) {
  const query = useRecord(['platforms', platformId, 'custom-domain'], (client, options) =>
    client.platforms.customDomain.get(platformId, options),
  );
  const domain = query.data?.data;
  return (
    <>
      <a href={linkTo(`/p/${platformId}/domain`)}>{domain?.domain ?? (query.isSuccess ? 'None' : query.isError ? 'Could not be read' : 'Loading')}</a>{' '}
      {domain?.domain && <DomainStatus status={domain.status} />}
    </>
  );
}
