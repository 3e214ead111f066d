/** The venues, of whose editions operators fetch the works for everybody. */

import type { Client, Venue } from '../../api/client';
import { useAction, useList } from '../../api/queries';
import { useParameter } from '../../ui/address';
import { Dialog, DialogFooter } from '../../ui/dialog';
import { Form, type Values } from '../../ui/form';
import { PageHeader } from '../../ui/page';
import { SelectField } from '../../ui/select-field';
import { Empty } from '../../ui/states';
import { List, type Column } from '../../ui/table';
import { JobDialog } from '../research/job-dialog';
import { countOutputs, describeYears } from '../research/venue';

/** The screen. */
export default function Backfill() {
  const [dialog, setDialog] = useParameter('dialog');
  const close = () => setDialog(null);
  const query = useList(['research', 'venues'], (client, page, options) => client.research.venues.list(page, options));
  const [name, id = ''] = (dialog ?? '').split(':');
  const venue = query.items.find((each) => each.id === id);
  return (
    <>
      <PageHeader
        title="Backfill"
        description="Fetches all works of an edition from DBLP into the public library, which every user sees."
      />
      <List
        query={query}
        noun="venue"
        caption="Venues"
        columns={[...COLUMNS, createActions((each) => setDialog(`backfill:${each.id}`))]}
        getKey={(each) => each.id}
        empty={<Empty title="No venues">The release lists the venues whose editions can be fetched.</Empty>}
      />
      {name === 'backfill' && venue && <BackfillDialog venue={venue} onClose={close} onStart={(jobId) => setDialog(`job:${jobId}`)} />}
      {name === 'job' && <JobDialog id={id} onClose={close} />}
    </>
  );
}

const COLUMNS: readonly Column<Venue>[] = [
  { title: 'Venue', kind: 'primary', render: (each) => each.name },
  { title: 'Editions', render: describeYears },
  { title: 'Fetched editions', kind: 'number', render: (each) => each.editions.filter((edition) => edition.outputCount > 0).length },
  { title: 'Works', kind: 'number', render: (each) => countOutputs(each).toLocaleString('en') },
];

function createActions(onBackfill: (venue: Venue) => void): Column<Venue> {
  const render = (each: Venue) => (
    <button type="button" class="quiet" aria-label={`Backfill: ${each.name}`} onClick={() => onBackfill(each)}>
      Backfill
    </button>
  );
  return { title: 'Actions', kind: 'actions', render };
}

interface BackfillDialogProps {
  venue: Venue;
  onClose: () => void;
  onStart: (jobId: string) => void;
}

function BackfillDialog({ venue, onClose, onStart }: BackfillDialogProps) {
  const call = (client: Client, { edition = '' }: Values, options = {}) => client.research.backfill(edition, options);
  const action = useAction({ call, changes: [['research', 'jobs']], onSuccess: (job) => onStart(job.id) });
  const choices = [...venue.editions]
    .sort((first, second) => second.year - first.year)
    .map(({ id, year, outputCount }) => ({ value: id, label: outputCount > 0 ? `${year}, ${outputCount} works fetched` : `${year}` }));
  return (
    <Dialog title={`Backfill an edition of ${venue.name}`} onClose={onClose}>
      <Form name="backfill" initial={{ edition: choices[0]?.value ?? '' }} error={action.error} onSubmit={action.mutate}>
        {(values) => (
          <>
            <SelectField name="edition" label="Edition" choices={choices} />
            <p class="small muted">
              All its works are fetched and reconciled in the background. Works that have not changed stay as they are.
            </p>
            <DialogFooter submitLabel="Backfill" onCancel={onClose} isPending={action.isPending} call={(client) => call(client, values)} />
          </>
        )}
      </Form>
    </Dialog>
  );
}
