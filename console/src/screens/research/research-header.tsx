/** What the screens of research share: the title, the links between them, and the dialogs that start jobs. */

import { includesRole } from '../../api/access';
import { linkTo, useDialog, useFragmentPath } from '../../ui/address';
import { DialogButton } from '../../ui/dialog-buttons';
import { Field, type Choice } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';
import { PageHeader } from '../../ui/page';
import { useMe } from '../../ui/place';
import { SelectField } from '../../ui/select-field';
import { Tabs } from '../../ui/tabs';
import { ArtefactDialog } from './artefact-dialog';
import { JobDialog } from './job-dialog';

const SCREENS = [
  { path: '/research', title: 'Works' },
  { path: '/research/artefacts', title: 'Artefacts' },
  { path: '/research/jobs', title: 'Jobs' },
  { path: '/research/venues', title: 'Venues' },
] as const;

/** Show the title and the links. */
export function ResearchHeader() {
  const [path] = useFragmentPath();
  return (
    <>
      <PageHeader
        title="Research"
        description="Publications in your own library, in those of your organizations, and in the public one."
        actions={
          <>
            <DialogButton dialog="reconcile">Reconcile</DialogButton>
            <DialogButton dialog="import" kind="primary">Import</DialogButton>
          </>
        }
      />
      <Tabs label="Research" tabs={SCREENS.map((each) => ({ href: linkTo(each.path), title: each.title, isCurrent: path === each.path }))} />
      <ResearchDialogs />
    </>
  );
}

/** The dialog that the address names. */
function ResearchDialogs() {
  const { name, id, open, close } = useDialog();
  const showJob = (job: string) => open(`job:${job}`);
  if (name === 'import') return <ImportDialog onClose={close} onStart={showJob} />;
  if (name === 'reconcile') return <ReconcileDialog onClose={close} onStart={showJob} />;
  if (name === 'job') return <JobDialog id={id} onClose={close} />;
  return name === 'artefact' ? <ArtefactDialog id={id} onClose={close} /> : null;
}

interface StartDialogProps {
  onClose: () => void;
  /** Called with the id of the job. */
  onStart: (id: string) => void;
}

function ImportDialog({ onClose, onStart }: StartDialogProps) {
  return (
    <FormDialog
      title="Import the works of a researcher"
      name="import"
      initial={{ researcherId: '', organizationId: '' }}
      submitLabel="Import"
      call={(client, { researcherId = '', organizationId }, options) =>
        client.research.import({ researcherId, organizationId: organizationId || null }, options)
      }
      changes={[['research', 'jobs']]}
      onDone={(job) => onStart(job.id)}
      onClose={onClose}
    >
      {() => (
        <>
          <Field
            name="researcherId"
            label="Researcher"
            required
            autoComplete="off"
            hint="An ORCID iD such as 0000-0002-1825-0097, or an author id of OpenAlex, with or without its URL."
          />
          <LibraryField />
          <p class="small muted">The records of ORCID and OpenAlex become artefacts. Reconcile them to build works.</p>
        </>
      )}
    </FormDialog>
  );
}

function ReconcileDialog({ onClose, onStart }: StartDialogProps) {
  return (
    <FormDialog
      title="Reconcile a library"
      name="reconcile"
      initial={{ organizationId: '' }}
      submitLabel="Reconcile"
      call={(client, { organizationId }, options) => client.research.reconcile({ organizationId: organizationId || null }, options)}
      changes={[['research', 'jobs']]}
      onDone={(job) => onStart(job.id)}
      onClose={onClose}
    >
      {() => (
        <>
          <LibraryField />
          <p class="small muted">
            Artefacts with a common identifier become one work. Works that only look alike are counted as conflicts, and are not merged.
          </p>
        </>
      )}
    </FormDialog>
  );
}

/** The choice of a library. Those of organizations need an editor. */
function LibraryField() {
  const organizations = useMe().data?.data.organizations ?? [];
  const choices: Choice[] = organizations.map(({ id, name, role }) => {
    const isEditor = includesRole(role, 'editor');
    return { value: id, label: isEditor ? name : `${name}, needs editor`, disabled: !isEditor };
  });
  return <SelectField name="organizationId" label="Library" choices={[{ value: '', label: 'My own library' }, ...choices]} />;
}
