/** One work, with the source of each field. */

import { useParams } from 'wouter-preact';
import type { Work } from '../../api/client';
import { useRecord } from '../../api/queries';
import { useDialog } from '../../ui/address';
import { BackLink, PageHeader, Section } from '../../ui/page';
import { toWords } from '../../ui/status';
import { RecordView, Table, type Column } from '../../ui/table';
import { ArtefactDialog } from './artefact-dialog';
import { nameAuthors } from './names';

interface Field {
  name: string;
  value: string;
  artefactId: string | undefined;
}

function toFields({ provenance, ...work }: Work): Field[] {
  const values = {
    title: work.title,
    authors: nameAuthors(work.authors),
    type: toWords(work.type.replaceAll('-', ' ')),
    year: work.year?.toString(),
    venueId: work.venueId,
    doi: work.doi,
  };
  return Object.entries(values).map(([name, value]) => ({ name, value: value ?? '', artefactId: provenance[name] }));
}

const TITLES: Record<string, string> = { venueId: 'Venue', doi: 'DOI' };

/** The screen. */
export default function WorkDetails() {
  const { work: id = '' } = useParams<{ work: string }>();
  const { name, id: artefactId, open, close } = useDialog();
  const query = useRecord(['research', 'outputs', id], (client, options) => client.research.outputs.get(id, options));
  return (
    <>
      <BackLink path="/research">Works</BackLink>
      <RecordView query={query}>{(work) => <WorkFields work={work} onOpen={(artefact) => open(`artefact:${artefact}`)} />}</RecordView>
      {name === 'artefact' && <ArtefactDialog id={artefactId} onClose={close} />}
    </>
  );
}

function WorkFields({ work, onOpen }: { work: Work; onOpen: (artefactId: string) => void }) {
  const columns: readonly Column<Field>[] = [
    { title: 'Field', kind: 'primary', render: (each) => TITLES[each.name] ?? toWords(each.name) },
    { title: 'Value', render: (each) => each.value || <span class="muted">No source has it</span> },
    {
      title: 'Source',
      kind: 'actions',
      render: ({ name, artefactId }) => artefactId && <ArtefactButton label={`Source of ${name}`} onOpen={() => onOpen(artefactId)} />,
    },
  ];
  return (
    <>
      <PageHeader title={work.title} description={work.doi && <DoiLink doi={work.doi} />} />
      <Table caption="Fields of the work" columns={columns} items={toFields(work)} getKey={(each) => each.name} />
      <Section title="All sources" description="The first source that has a field decides. Sources can disagree.">
        <div class="buttons">
          {work.artefactIds.map((artefactId, index) => (
            <ArtefactButton key={artefactId} label={`Artefact ${index + 1}`} onOpen={() => onOpen(artefactId)} />
          ))}
        </div>
      </Section>
    </>
  );
}

function ArtefactButton({ label, onOpen }: { label: string; onOpen: () => void }) {
  return (
    <button type="button" class="quiet" onClick={onOpen}>
      {label}
    </button>
  );
}

/** A link to a DOI. The resolver's address comes first, so the text cannot lead elsewhere. */
function DoiLink({ doi }: { doi: string }) {
  return (
    <a href={`https://doi.org/${encodeURI(doi)}`} rel="noopener noreferrer" target="_blank">
      {doi}
    </a>
  );
}
