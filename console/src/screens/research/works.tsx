/** The works: publications, each shown once although several sources have it. */

import type { Work } from '../../api/client';
import { useList } from '../../api/queries';
import { linkTo, useParameter } from '../../ui/address';
import { TextFilter } from '../../ui/filters';
import { Empty } from '../../ui/states';
import { toWords } from '../../ui/status';
import { List, type Column } from '../../ui/table';
import { nameAuthors } from './names';
import { ResearchHeader } from './research-header';

const COLUMNS: readonly Column<Work>[] = [
  {
    title: 'Title',
    kind: 'primary',
    render: (each) => (
      <>
        <a href={linkTo(`/research/works/${each.id}`)}>{each.title}</a>
        <span class="sub">{nameAuthors(each.authors)}</span>
      </>
    ),
  },
  { title: 'Type', render: (each) => toWords(each.type.replaceAll('-', ' ')) },
  { title: 'Venue', render: (each) => each.venueId ?? '' },
  { title: 'Sources', kind: 'number', render: (each) => each.artefactIds.length },
  { title: 'Year', kind: 'number', render: (each) => each.year ?? '' },
];

/** The screen. */
export default function Works() {
  const [doi] = useParameter('doi');
  const [researcherId] = useParameter('researcherId');
  const [venueId] = useParameter('venueId');
  const [year] = useParameter('year');
  const filters = {
    doi: doi ?? undefined,
    researcherId: researcherId ?? undefined,
    venueId: venueId ?? undefined,
    year: year ? Number(year) : undefined,
  };
  const isFiltered = Object.values(filters).some(Boolean);
  const query = useList(['research', 'outputs', filters], (client, page, options) =>
    client.research.outputs.list({ ...page, ...filters }, options),
  );
  return (
    <>
      <ResearchHeader />
      <div class="filters">
        <TextFilter parameter="researcherId" label="Researcher" placeholder="ORCID iD" />
        <TextFilter parameter="venueId" label="Venue" placeholder="neurips" />
        <TextFilter parameter="year" label="Year" type="number" />
        <TextFilter parameter="doi" label="DOI" placeholder="10.5555/12345678" />
      </div>
      <List
        query={query}
        noun="work"
        columns={COLUMNS}
        getKey={(each) => each.id}
        empty={
          <Empty title={isFiltered ? 'No work is found' : 'No works yet'}>
            Import the works of a researcher, then reconcile the library. Records of several sources about one publication
            become one work.
          </Empty>
        }
      />
    </>
  );
}
