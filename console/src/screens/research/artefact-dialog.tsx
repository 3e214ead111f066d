/** The dialog with what one source says about a work. */

import type { Artefact } from '../../api/client';
import { useRecord } from '../../api/queries';
import { linkTo } from '../../ui/address';
import { Details, timeDetail, type Detail } from '../../ui/details';
import { DetailDialog } from '../../ui/dialog';
import { toWords } from '../../ui/status';
import { RecordView } from '../../ui/table';
import { nameAuthors, SOURCES } from './names';

/** Show an artefact. */
export function ArtefactDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const query = useRecord(['research', 'artefacts', id], (client, options) => client.research.artefacts.get(id, options));
  return (
    <DetailDialog title="Artefact" onClose={onClose}>
      <RecordView query={query}>{(artefact) => <ArtefactDetails artefact={artefact} />}</RecordView>
    </DetailDialog>
  );
}

function ArtefactDetails({ artefact }: { artefact: Artefact }) {
  const { source, sourceId, title, type, year, venueName, authors, identifiers, outputId } = artefact;
  const ids: Detail[] = Object.entries(identifiers).map(([name, value]) => [name.toUpperCase(), value && <code>{value}</code>]);
  return (
    <Details
      items={[
        ['Source', SOURCES[source]],
        ['Id at the source', <code>{sourceId}</code>],
        ['Title', title],
        ['Authors', nameAuthors(authors)],
        ['Type', toWords(type)],
        ['Year', year],
        ['Venue', venueName],
        ...ids,
        ['Work', outputId ? <a href={linkTo(`/research/works/${outputId}`)}>Open the work</a> : 'Not reconciled yet'],
        ['SHA-256 of the record', <code>{artefact.contentHash}</code>],
        timeDetail('Fetched', artefact.fetchedAt),
      ]}
    />
  );
}
