/** The leads on a board: a column for each status. */

import type { Lead } from '../../api/client';
import { useList } from '../../api/queries';
import { useChoice, useDialog, useParameter } from '../../ui/address';
import { DialogButton, RowActions } from '../../ui/dialog-buttons';
import { SelectFilter, TextFilter } from '../../ui/filters';
import { NameFilters, useNameQuery } from '../../ui/name-filters';
import { PageHeader } from '../../ui/page';
import { Empty } from '../../ui/states';
import { toWords } from '../../ui/status';
import { ListStates } from '../../ui/table';
import { Time } from '../../ui/time';
import { CreateDialog } from './create-dialog';
import { LeadDialog } from './lead-dialog';
import { StatusDialog } from './status-dialog';

const OPEN = ['new', 'contacted', 'qualified', 'converted'] as const;
const CLOSED = ['unqualified', 'spam', 'withdrawn'] as const;
const STATUSES: readonly Lead['status'][] = [...OPEN, ...CLOSED];
const PAGE_SIZE = 100;

/** The screen. */
export default function Leads() {
  const [status] = useChoice('status', STATUSES);
  const [email] = useParameter('email');
  const names = useNameQuery();
  const query = useList(['leads', { status, email, ...names }], (client, page, options) =>
    client.marketingLeads.list({ ...page, limit: PAGE_SIZE, status, email: email ?? undefined, ...names }, options),
  );
  const createButton = <DialogButton dialog="create" kind="primary">Add lead</DialogButton>;
  // While another status is read, the former leads stay in their columns.
  const statuses = query.isPlaceholderData ? STATUSES.filter((each) => query.items.some((lead) => lead.status === each)) : status ? [status] : STATUSES;
  const isFiltered = Boolean(status ?? email ?? names.q);
  return (
    <>
      <PageHeader title="Leads" description="People who asked for something, and how far you have got with them." actions={createButton} />
      <div class="filters">
        <NameFilters placeholder="Name, company or address" usualOrder="Newest first" />
        <SelectFilter parameter="status" label="Status" choices={STATUSES} />
        <TextFilter parameter="email" label="E-mail address" placeholder="The complete address" />
      </div>
      <ListStates
        query={query}
        noun="lead"
        empty={
          <Empty title={isFiltered ? 'No lead is found' : 'No leads yet'} action={createButton}>
            Each submission of the public form becomes a lead. Add the people who called or wrote yourself.
          </Empty>
        }
      >
        <div class="board" inert={query.isPlaceholderData} aria-busy={query.isPlaceholderData}>
          {statuses.map((each) => (
            <BoardColumn key={each} status={each} leads={query.items.filter((lead) => lead.status === each)} />
          ))}
        </div>
      </ListStates>
      <Dialogs />
    </>
  );
}

const ACTIONS = [
  { dialog: 'lead', text: 'Details' },
  { dialog: 'move', text: 'Move' },
];

function BoardColumn({ status, leads }: { status: Lead['status']; leads: readonly Lead[] }) {
  return (
    <section aria-label={toWords(status)}>
      <h2>
        {toWords(status)} <span class="muted">{leads.length}</span>
      </h2>
      <ul>
        {leads.map((lead) => (
          <li key={lead.id} class="card">
            <strong>{lead.contactName}</strong>
            {lead.companyName && <span class="muted">{lead.companyName}</span>}
            {lead.message && <span class="small clamped">{lead.message}</span>}
            <span class="small muted">
              <Time value={lead.createdAt} />
            </span>
            <div class="buttons">
              <RowActions id={lead.id} name={lead.contactName} actions={ACTIONS} />
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The dialog that the address names. */
function Dialogs() {
  const { name, id, open, close } = useDialog();
  if (name === 'create') return <CreateDialog onClose={close} />;
  if (name === 'lead') return <LeadDialog id={id} onClose={close} onMove={() => open(`move:${id}`)} />;
  return name === 'move' ? <StatusDialog id={id} onClose={close} /> : null;
}
