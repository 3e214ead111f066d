/** The start page of an organization: what it is, and its latest changes. */

import { operations } from '../../api/access';
import type { AuditEntry, LogSummary } from '../../api/client';
import { useList, useRecord } from '../../api/queries';
import { linkTo } from '../../ui/address';
import { ProofBadge } from '../../proof/badge';
import { useCan, useOrganization, useOrganizationId } from '../../ui/place';
import { RoleNotice } from '../../ui/role-notice';
import { PageHeader, Section } from '../../ui/page';
import { Empty } from '../../ui/states';
import { toWords } from '../../ui/status';
import { Tile } from '../../ui/tile';
import { RecordView, List, type Column } from '../../ui/table';
import { Time } from '../../ui/time';

const LATEST_ENTRIES = 10;

const COLUMNS: readonly Column<AuditEntry>[] = [
  { title: 'Event', kind: 'primary', render: (each) => <code>{each.type}</code> },
  { title: 'Actor', render: (each) => each.actor?.name ?? toWords(each.actor?.type ?? 'erased') },
  { title: 'Target', render: (each) => each.target?.name ?? toWords(each.target?.type ?? 'none') },
  { title: 'At', kind: 'time', render: (each) => <Time value={each.occurredAt} /> },
];

/** The screen. */
export default function Overview() {
  const query = useOrganization();
  return (
    <RecordView query={query}>
      {(organization) => (
        <>
          <PageHeader title={organization.name} description={organization.companyLegalName ?? organization.companyName} />
          <Facts />
          <LatestEntries />
        </>
      )}
    </RecordView>
  );
}

/** The numbers of the organization. Each leads to the screen that explains it. */
function Facts() {
  const organizationId = useOrganizationId();
  const query = useRecord(['organizations', organizationId, 'summary'], (client, options) =>
    client.organizations.getSummary(organizationId, options),
  );
  const screen = (name: string, parameters = {}) => linkTo(`/o/${organizationId}/${name}`, parameters);
  return (
    <RecordView query={query}>
      {({ members, pendingInvitations, webhooks, domains, log }) => (
        <dl class="tiles">
          <Tile label="Members">{members ? <a href={screen('members')}>{countOf(members.total, members.isAtLeast)}</a> : NOT_SHOWN}</Tile>
          <Tile label="Pending invitations">
            {pendingInvitations === null ? NOT_SHOWN : <a href={screen('invitations', { status: 'pending' })}>{pendingInvitations}</a>}
          </Tile>
          <Tile label="Failing webhooks" note={webhooks && `of ${webhooks.total}`}>
            {webhooks ? <a href={screen('webhooks')}>{webhooks.failing}</a> : NOT_SHOWN}
          </Tile>
          <Tile label="Unverified domains" note={domains && `of ${countOf(domains.total, domains.isAtLeast)}`}>
            {domains ? <a href={screen('domains')}>{countOf(domains.unverified, domains.isAtLeast)}</a> : NOT_SHOWN}
          </Tile>
          <Tile label="Entries of the log" note={log && <LogHead log={log} />}>
            {log ? <a href={screen('log')}>{log.size + log.pendingEntries}</a> : NOT_SHOWN}
          </Tile>
        </dl>
      )}
    </RecordView>
  );
}

const NOT_SHOWN = <span class="muted">Needs admin</span>;

function countOf(count: number, isAtLeast: boolean): string {
  return isAtLeast ? `${count}+` : String(count);
}

/** The hash in the head of the log: the third line of its checkpoint. */
function LogHead({ log }: { log: LogSummary }) {
  const hash = log.checkpoint?.split('\n')[2];
  if (!hash) return <>No checkpoint yet</>;
  return (
    <>
      Head <code title={hash}>{hash.slice(0, 12)}</code>
    </>
  );
}

function LatestEntries() {
  const organizationId = useOrganizationId();
  const canRead = useCan(operations.list_audit_log);
  const query = useList(
    ['organizations', organizationId, 'audit-log', 'latest'],
    (client, _, options) => client.organizations.auditLog.list(organizationId, { limit: LATEST_ENTRIES }, options),
    { enabled: canRead },
  );
  return (
    <Section title="Latest changes" actions={canRead && <ProofBadge />}>
      <RoleNotice rule={operations.list_audit_log}>The log lists every change.</RoleNotice>
      {canRead && (
        <List
          query={{ ...query, hasNextPage: false }}
          noun="entry"
          caption="Latest changes"
          columns={COLUMNS}
          getKey={(each) => each.id}
          empty={<Empty title="No changes yet">Each change to this organization becomes an entry of its log.</Empty>}
        />
      )}
    </Section>
  );
}
