/** The exports of the log that run in the background, and their files. */

import { operations } from '../../api/access';
import type { AuditExport } from '../../api/client';
import { useAction, useList } from '../../api/queries';
import { linkTo, useDialog } from '../../ui/address';
import { openDownload } from '../../ui/download';
import { isPendingJob, JobStatus } from '../../ui/job-status';
import { PageHeader } from '../../ui/page';
import { useCan, useOrganizationId } from '../../ui/place';
import { Empty, Problem } from '../../ui/states';
import { type Column, List } from '../../ui/table';
import { Time } from '../../ui/time';
import { VerifyExportDialog } from './verify-export-dialog';

const COLUMNS: readonly Column<AuditExport>[] = [
  {
    title: 'Export',
    kind: 'primary',
    render: (each) => (
      <>
        {each.format === 'csv' ? 'CSV' : 'NDJSON'}
        <span class="sub">{describeFilters(each.filters)}</span>
      </>
    ),
  },
  {
    title: 'Status',
    render: (each) => (
      <>
        <JobStatus status={each.status} />
        {each.error && <span class="sub">{each.error}</span>}
      </>
    ),
  },
  { title: 'Entries', kind: 'number', render: (each) => each.entryCount?.toLocaleString('en') ?? '' },
  { title: 'Size', kind: 'number', render: (each) => describeSize(each.sizeBytes) },
  { title: 'Started', kind: 'time', render: (each) => <Time value={each.createdAt} /> },
  { title: 'Kept until', kind: 'time', render: (each) => each.expiresAt && <Time value={each.expiresAt} /> },
];

/** The screen. */
export default function Exports() {
  const organizationId = useOrganizationId();
  const key = ['organizations', organizationId, 'exports'];
  const query = useList(key, (client, page, options) => client.organizations.auditLog.exports.list(organizationId, page, options), {
    isLive: (exports) => exports.some(isPendingJob),
  });
  const download = useAction({
    call: (client, id: string) => client.organizations.auditLog.exports.get(organizationId, id),
    changes: [],
    onSuccess: ({ downloadUrl }) => downloadUrl && openDownload(downloadUrl),
  });
  const startLink = useCan(operations.start_audit_export) && (
    <a class="button primary" href={linkTo(`/o/${organizationId}/log`, { dialog: 'export' })}>
      New export
    </a>
  );
  const { name, id, open, close } = useDialog();
  const verified = name === 'verify' ? query.items.find((each) => each.id === id) : undefined;
  return (
    <>
      <PageHeader title="Exports" description="Files with the entries of the log. Each download is an entry of the log, too." actions={startLink} />
      {download.error && <Problem error={download.error} />}
      <List
        query={query}
        noun="export"
        columns={[...COLUMNS, actionsColumn(download.mutate, (chosen) => open(`verify:${chosen}`))]}
        getKey={(each) => each.id}
        empty={
          <Empty title="No exports yet" action={startLink}>
            An export in the background has any number of entries. Its NDJSON file can be verified without the service.
          </Empty>
        }
      />
      {verified && <VerifyExportDialog record={verified} onClose={close} />}
    </>
  );
}

function actionsColumn(download: (id: string) => void, verify: (id: string) => void): Column<AuditExport> {
  return {
    title: 'Actions',
    kind: 'actions',
    render: (each) =>
      each.status === 'completed' && (
        <>
          <button type="button" class="quiet" onClick={() => download(each.id)}>
            Download
          </button>
          {each.format === 'ndjson' && (
            <button type="button" class="quiet" onClick={() => verify(each.id)}>
              Verify
            </button>
          )}
        </>
      ),
  };
}

function describeFilters({ type, actorId, targetId, from, to }: AuditExport['filters']): string {
  const parts = [
    type,
    actorId && `actor ${actorId}`,
    targetId && `target ${targetId}`,
    from && `from ${from.slice(0, 16).replace('T', ' ')} UTC`,
    to && `until ${to.slice(0, 16).replace('T', ' ')} UTC`,
  ];
  return parts.filter(Boolean).join(', ') || 'All entries';
}

function describeSize(bytes: number | null): string {
  if (bytes === null) return '';
  return bytes < 1_000_000 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
