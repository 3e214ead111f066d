/** The custom domain of a platform: its DNS records, and what the last check found. */

import { operations } from '../../api/access';
import type { CustomDomain } from '../../api/client';
import { useRecord } from '../../api/queries';
import { DialogButton } from '../../ui/dialog-buttons';
import { DnsRecords, DomainStatus, isDomainLive } from '../../ui/dns-records';
import { PageHeader, Section } from '../../ui/page';
import { useCan, usePlatformId } from '../../ui/place';
import { RoleNotice } from '../../ui/role-notice';
import { Empty } from '../../ui/states';
import { RecordView } from '../../ui/table';
import { Tile } from '../../ui/tile';
import { Time, TimeLabel } from '../../ui/time';
import { CustomDomainDialogs } from './dialogs';

/** The screen. */
export default function CustomDomainScreen() {
  const platformId = usePlatformId();
  const query = useRecord(
    ['platforms', platformId, 'custom-domain'],
    (client, options) => client.platforms.customDomain.get(platformId, options),
    { isLive: isDomainLive },
  );
  return (
    <>
      <PageHeader title="Domain" description="A domain of your own under which people find the platform." actions={<Actions domain={query.data?.data} />} />
      <RoleNotice rule={operations.set_custom_domain}>You can read the records.</RoleNotice>
      <RecordView query={query}>
        {(domain) => (
          <>
            {domain.domain ? <Records domain={domain} /> : <NoDomain />}
            <CustomDomainDialogs domain={domain} etag={query.data?.etag ?? null} />
          </>
        )}
      </RecordView>
    </>
  );
}

function Actions({ domain }: { domain: CustomDomain | undefined }) {
  const canChange = useCan(operations.set_custom_domain);
  if (!canChange || !domain?.domain) return null;
  return (
    <>
      <DialogButton dialog="remove">Remove</DialogButton>
      <DialogButton dialog="link">Share instructions</DialogButton>
      <DialogButton dialog="verify" kind="primary">Verify now</DialogButton>
    </>
  );
}

function NoDomain() {
  const canChange = useCan(operations.set_custom_domain);
  const button = canChange && <DialogButton dialog="set" kind="primary">Set domain</DialogButton>;
  return (
    <Empty title="No domain yet" action={button}>
      People find the platform below the domain of the service. With a domain of your own, you create two DNS records, and the service
      checks them until they are there.
    </Empty>
  );
}

function Records({ domain }: { domain: CustomDomain }) {
  return (
    <>
      {domain.lastErrorDetail && (
        <p class={`notice ${domain.status === 'pending' ? 'warning' : 'bad'}`}>
          {domain.lastErrorDetail} <code>{domain.lastError}</code>
        </p>
      )}
      <dl class="tiles">
        <Tile label="Status">
          <DomainStatus status={domain.status} />
        </Tile>
        <Tile label={<TimeLabel>Last check</TimeLabel>}>
          <Time value={domain.lastCheckedAt} />
        </Tile>
        <Tile label={<TimeLabel>Next check</TimeLabel>}>
          <Time value={domain.nextCheckAt} />
        </Tile>
        {domain.failsAt && (
          <Tile label={<TimeLabel>{domain.status === 'verified' ? 'Lapses' : 'Fails'}</TimeLabel>}>
            <Time value={domain.failsAt} />
          </Tile>
        )}
      </dl>
      <Section title={`DNS records of ${domain.domain}`} description="Create them at the provider of your DNS. Until all are found, this page reads them again by itself.">
        <DnsRecords records={domain.records} isChecked={domain.lastCheckedAt !== null} />
      </Section>
    </>
  );
}
