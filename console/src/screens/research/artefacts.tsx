/** The artefacts: what sources such as ORCID say about works. */

import type { Artefact } from '../../api/client';
import { useList } from '../../api/queries';
import { useChoice, useParameter } from '../../ui/address';
import { actionsColumn } from '../../ui/dialog-buttons';
import { SelectFilter, TextFilter } from '../../ui/filters';
import { Empty } from '../../ui/states';
import { Status } from '../../ui/status';
import { List, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { nameAuthors, SOURCES } from './names';
import { ResearchHeader } from './research-header';

const CODES = ['orcid', 'openalex', 'dblp'] as const;

const COLUMNS: readonly Column<Artefact>[] = [
  {
    title: 'Title',
    kind: 'primary',
    render: (each) => (
      <>
        {each.title}
        <span class="sub">{nameAuthors(each.authors)}</span>
      </>
    ),
  },
  { title: 'Source', render: (each) => SOURCES[each.source] },
  { title: 'Year', kind: 'number', render: (each) => each.year ?? '' },
  {
    title: 'Work',
    render: (each) => (each.outputId ? <Status tone="good">Reconciled</Status> : <Status tone="warning">Not reconciled</Status>),
  },
  { title: 'Fetched', kind: 'time', render: (each) => <Time value={each.fetchedAt} /> },
  actionsColumn(({ id, title }) => ({ id, name: title, actions: [{ dialog: 'artefact', text: 'Details' }] })),
];

/** The screen. */
export default function Artefacts() {
  const [source] = useChoice('source', CODES);
  const [researcherId] = useParameter('researcherId');
  const query = useList(['research', 'artefacts', { source, researcherId }], (client, page, options) =>
    client.research.artefacts.list({ ...page, source, researcherId: researcherId ?? undefined }, options),
  );
  return (
    <>
      <ResearchHeader />
      <div class="filters">
        <SelectFilter parameter="source" label="Source" choices={CODES} />
        <TextFilter parameter="researcherId" label="Researcher" placeholder="ORCID iD" />
      </div>
      <List
        query={query}
        noun="artefact"
        columns={COLUMNS}
        getKey={(each) => each.id}
        empty={
          <Empty title={source || researcherId ? 'No artefact is found' : 'No artefacts yet'}>
            An artefact is the record of one source about a publication, as it was fetched. Import a researcher to get some.
          </Empty>
        }
      />
    </>
  );
}
