/** The venues, of whose editions operators fetch the works for everybody. */

import type { Venue } from '../../api/client';
import { useList } from '../../api/queries';
import { useDialog } from '../../ui/address';
import { actionsColumn } from '../../ui/dialog-buttons';
import { FormDialog } from '../../ui/form-dialog';
import { PageHeader } from '../../ui/page';
import { SelectField } from '../../ui/select-field';
import { Empty } from '../../ui/states';
import { List, type Column } from '../../ui/table';
import { JobDialog } from '../research/job-dialog';
import { countOutputs, describeYears } from '../research/venue';

const COLUMNS: readonly Column<Venue>[] = [
  { title: 'Venue', kind: 'primary', render: (each) => each.name },
  { title: 'Editions', render: describeYears },
  { title: 'Fetched editions', kind: 'number', render: (each) => each.editions.filter((edition) => edition.outputCount > 0).length },
  { title: 'Works', kind: 'number', render: (each) => countOutputs(each).toLocaleString('en') },
  actionsColumn(({ id, name }) => ({ id, name, actions: [{ dialog: 'backfill', text: 'Backfill' }] })),
];

/** The screen. */
export default function Backfill() {
  const { name, id, open, close } = useDialog();
  const query = useList(['research', 'venues'], (client, page, options) => client.research.venues.list(page, options));
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
        columns={COLUMNS}
        getKey={(each) => each.id}
        empty={<Empty title="No venues">The release lists the venues whose editions can be fetched.</Empty>}
      />
      {name === 'backfill' && venue && <BackfillDialog venue={venue} onClose={close} onStart={(jobId) => open(`job:${jobId}`)} />}
      {name === 'job' && <JobDialog id={id} onClose={close} />}
    </>
  );
}

interface BackfillDialogProps {
  venue: Venue;
  onClose: () => void;
  onStart: (jobId: string) => void;
}

function BackfillDialog({ venue, onClose, onStart }: BackfillDialogProps) {
  const choices = [...venue.editions]
    .sort((first, second) => second.year - first.year)
    .map(({ id, year, outputCount }) => ({ value: id, label: outputCount > 0 ? `${year}, ${outputCount} works fetched` : `${year}` }));
  return (
    <FormDialog
      title={`Backfill an edition of ${venue.name}`}
      name="backfill"
      initial={{ edition: choices[0]?.value ?? '' }}
      submitLabel="Backfill"
      call={(client, { edition = '' }, options) => client.research.backfill(edition, options)}
      changes={[['research', 'jobs']]}
      onDone={(job) => onStart(job.id)}
      onClose={onClose}
    >
      {() => (
        <>
          <SelectField name="edition" label="Edition" choices={choices} />
          <p class="small muted">
            All its works are fetched and reconciled in the background. Works that have not changed stay as they are.
          </p>
        </>
      )}
    </FormDialog>
  );
}
