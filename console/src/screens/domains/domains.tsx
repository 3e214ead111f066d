/** The custom domains of all platforms of an organization. */

import type { PlatformDomain } from '../../api/client';
import { useList, useRecord } from '../../api/queries';
import { linkTo, useChoice, useDialog } from '../../ui/address';
import { actionsColumn } from '../../ui/dialog-buttons';
import { DnsRecords, DomainStatus } from '../../ui/dns-records';
import { DetailDialog } from '../../ui/dialog';
import { SelectFilter } from '../../ui/filters';
import { useOrganizationId } from '../../ui/place';
import { PageHeader } from '../../ui/page';
import { Empty } from '../../ui/states';
import { List, RecordView, type Column } from '../../ui/table';
import { Time } from '../../ui/time';

const STATUSES = ['none', 'pending', 'verified', 'failed', 'lapsed'] as const;

const COLUMNS: readonly Column<PlatformDomain>[] = [
  {
    title: 'Platform',
    kind: 'primary',
    render: (each) => (
      <>
        <a href={linkTo(`/p/${each.platformId}`)}>{each.platformName}</a>
        <span class="sub">{each.subdomain}</span>
      </>
    ),
  },
  { title: 'Domain', render: (each) => each.customDomain ?? <span class="muted">None</span> },
  { title: 'Status', render: (each) => <DomainStatus status={each.verificationStatus} /> },
  { title: 'Verified', kind: 'time', render: (each) => <Time value={each.verifiedAt} /> },
  { title: 'Last checked', kind: 'time', render: (each) => <Time value={each.lastCheckedAt} /> },
  actionsColumn(({ platformId, customDomain }) => ({
    id: platformId,
    name: customDomain ?? '',
    actions: [{ dialog: 'records', text: 'DNS records', isShown: customDomain !== null }],
  })),
];

/** The screen. */
export default function Domains() {
  const organizationId = useOrganizationId();
  const { name, id, close } = useDialog();
  const [verificationStatus] = useChoice('status', STATUSES);
  const query = useList(
    ['organizations', organizationId, 'domains', { verificationStatus }],
    (client, page, options) => client.organizations.domains.list(organizationId, { ...page, verificationStatus }, options),
    { isLive: (domains) => domains.some((each) => each.verificationStatus === 'pending') },
  );
  return (
    <>
      <PageHeader title="Domains" description="The platforms of the organization, and the domains at which people find them." />
      <div class="filters">
        <SelectFilter parameter="status" label="Status" choices={STATUSES} />
      </div>
      <List
        query={query}
        noun="platform"
        caption="Domains"
        columns={COLUMNS}
        getKey={(each) => each.platformId}
        empty={
          <Empty title={verificationStatus ? `No domain is ${verificationStatus}` : 'No platforms yet'}>
            Each platform has a subdomain, and can have a domain of its own. Its screen sets the domain.
          </Empty>
        }
      />
      {name === 'records' && <RecordsDialog platformId={id} onClose={close} />}
    </>
  );
}

/** The records that a domain needs, and what the last check observed. */
function RecordsDialog({ platformId, onClose }: { platformId: string; onClose: () => void }) {
  const query = useRecord(
    ['platforms', platformId, 'custom-domain'],
    (client, options) => client.platforms.customDomain.get(platformId, options),
    { isLive: (domain) => domain.status === 'pending' },
  );
  const link = (
    <a class="button" href={linkTo(`/p/${platformId}/domain`)}>
      Open the platform's domain
    </a>
  );
  return (
    <DetailDialog title="DNS records" onClose={onClose} actions={link}>
      <RecordView query={query}>
        {(domain) => (
          <>
            <p>
              <strong>{domain.domain}</strong> <DomainStatus status={domain.status} />
            </p>
            {domain.lastErrorDetail && <p class="notice warning">{domain.lastErrorDetail}</p>}
            <DnsRecords records={domain.records} isChecked={domain.lastCheckedAt !== null} />
          </>
        )}
      </RecordView>
    </DetailDialog>
  );
}
