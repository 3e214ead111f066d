/** A list of reference data, and the dialog with one of its records. */

import type { Call, Client, ListPage, ReadOptions } from '../../api/client';
import { useList, useRecord } from '../../api/queries';
import { useParameter } from '../../ui/address';
import { Details, type Detail } from '../../ui/details';
import { DetailDialog } from '../../ui/dialog';
import { Empty } from '../../ui/states';
import { toWords } from '../../ui/status';
import { List, RecordView, type Column } from '../../ui/table';

interface ReferenceRecord {
  id: string;
  name: string;
  attribution: string;
  dataVersion: string;
}

interface Query {
  cursor?: string | undefined;
  q?: string;
  countryId?: string;
  at?: string;
}

/** The operations of one kind of reference data. */
interface Resource<T> {
  list: (query: Query, options: ReadOptions) => Call<ListPage<T>>;
  get: (id: string) => Call<T>;
}

interface ReferenceListProps<T> {
  kind: string;
  noun: string;
  columns: readonly Column<T>[];
  list: (client: Client) => Resource<T>;
}

/** Show the records that the filters in the address select. */
export function ReferenceList<T extends ReferenceRecord>({ kind, noun, columns, list }: ReferenceListProps<T>) {
  const [q] = useParameter('q');
  const [countryId] = useParameter('countryId');
  const [at] = useParameter('at');
  const [id, setId] = useParameter('dialog');
  const filters: Query = {
    ...(q && { q }),
    ...(countryId && kind !== 'countries' && { countryId: countryId.toUpperCase() }),
    ...(at && kind === 'timezones' && { at }),
  };
  const query = useList(['reference', kind, filters], (client, page, options) => list(client).list({ ...page, ...filters }, options));
  const name: Column<T> = {
    title: 'Name',
    kind: 'primary',
    render: (each) => (
      <button type="button" class="quiet flush" onClick={() => setId(each.id)}>
        {each.name}
      </button>
    ),
  };
  const [first] = query.items;
  return (
    <>
      <List
        query={query}
        noun={noun}
        caption={toWords(kind)}
        columns={[name, ...columns]}
        getKey={(each) => each.id}
        empty={<Empty title={`No ${noun} is found`}>The search compares the beginning of names and codes. Case and accents do not matter.</Empty>}
      />
      {first && <p class="small muted">{`${first.attribution} Data of ${first.dataVersion}.`}</p>}
      {id && <ReferenceDialog kind={kind} id={id} list={list} onClose={() => setId(null)} />}
    </>
  );
}

type ReferenceDialogProps<T> = Pick<ReferenceListProps<T>, 'kind' | 'list'> & { id: string; onClose: () => void };

const HIDDEN = ['createdAt', 'updatedAt', 'version', 'attribution', 'dataVersion'];

function ReferenceDialog<T extends ReferenceRecord>({ kind, id, list, onClose }: ReferenceDialogProps<T>) {
  const query = useRecord(['reference', kind, id], (client) => list(client).get(id));
  return (
    <DetailDialog title={query.data?.data.name ?? id} onClose={onClose}>
      <RecordView query={query}>{(record) => <Details items={toDetails(record)} />}</RecordView>
    </DetailDialog>
  );
}

/** Return all fields of a record, named as in the API. */
function toDetails(record: object): Detail[] {
  return Object.entries(record)
    .filter(([name]) => !HIDDEN.includes(name))
    .map(([name, value]) => [<code>{name}</code>, Array.isArray(value) ? value.join(', ') : (value as string | null)]);
}
