/** The audit log of an organization: who changed what, when, and the proof that nothing was altered. */

import type { AuditEntry } from '../../api/client';
import { useList } from '../../api/queries';
import { useCheck } from '../../proof/checks';
import { ProofPanel } from '../../proof/badge';
import { linkTo, useDialog } from '../../ui/address';
import { Changes } from '../../ui/changes';
import { DialogButton } from '../../ui/dialog-buttons';
import { PageHeader } from '../../ui/page';
import { useOrganizationId } from '../../ui/place';
import { Empty } from '../../ui/states';
import { Status } from '../../ui/status';
import { type Column, List } from '../../ui/table';
import { Time } from '../../ui/time';
import { ExportDialog } from './export-dialog';
import { LogFilters } from './log-filters';
import { ActorName, TargetName } from './names';
import { useSelection } from './selection';

/** The screen. */
export default function Log() {
  const organizationId = useOrganizationId();
  const { name, close } = useDialog();
  const selection = useSelection();
  const isSelective = Object.keys(selection).length > 0;
  const query = useList(['organizations', organizationId, 'audit-log', selection], (client, page, options) =>
    client.organizations.auditLog.list(organizationId, { ...page, ...selection }, options),
  );
  const exportButton = <DialogButton dialog="export">Export</DialogButton>;
  return (
    <>
      <PageHeader title="Log" description="Every change in this organization: who made it, when, and what was different before." actions={exportButton} />
      <ProofPanel />
      <LogFilters entries={query.items} />
      <List
        query={query}
        noun="entry"
        caption="Entries of the log"
        columns={useColumns()}
        getKey={(each) => each.id}
        empty={
          <Empty title={isSelective ? 'No entry matches' : 'No entries yet'}>
            {isSelective
              ? 'Remove a filter to see more. A filter by type, actor or target can miss an entry of the last seconds.'
              : 'Each change to this organization becomes an entry, which nobody can alter without breaking the proof.'}
          </Empty>
        }
      />
      {name === 'export' && <ExportDialog onClose={close} />}
    </>
  );
}

function useColumns(): readonly Column<AuditEntry>[] {
  const organizationId = useOrganizationId();
  const check = useCheck(organizationId);
  const brokenSequence = check.kind === 'broken' ? check.sequence : null;
  return [
    { title: 'Event', kind: 'primary', render: (each) => <Event entry={each} href={linkTo(`/o/${organizationId}/log/${each.id}`)} /> },
    { title: 'Actor', render: (each) => <ActorName entry={each} /> },
    { title: 'Target', render: (each) => <TargetName entry={each} /> },
    {
      title: 'Position',
      kind: 'number',
      render: (each) => {
        if (each.sequence === null) return <span class="muted">Pending</span>;
        return each.sequence === brokenSequence ? <Status tone="bad">{`${each.sequence}, not proven`}</Status> : each.sequence;
      },
    },
    { title: 'At', kind: 'time', render: (each) => <Time value={each.occurredAt} /> },
  ];
}

function Event({ entry, href }: { entry: AuditEntry; href: string }) {
  const count = entry.changes.length;
  return (
    <>
      <a href={href}>
        <code>{entry.type}</code>
      </a>
      {count > 0 && (
        <details>
          <summary>{count === 1 ? '1 field' : `${count} fields`}</summary>
          <Changes changes={entry.changes} />
        </details>
      )}
    </>
  );
}
