/** The spaces of a platform. */

import { operations } from '../../api/access';
import type { Space, SpaceCreate } from '../../api/client';
import { useList } from '../../api/queries';
import { linkTo, navigate, useDialog } from '../../ui/address';
import { DialogButton } from '../../ui/dialog-buttons';
import { Field, type Values } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';
import { PageHeader } from '../../ui/page';
import { useCan, usePlatformId } from '../../ui/place';
import { RoleNotice } from '../../ui/role-notice';
import { Empty } from '../../ui/states';
import { Status } from '../../ui/status';
import { List, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { VisibilityField } from './visibility';

const COLUMNS: readonly Column<Space>[] = [
  {
    title: 'Name',
    kind: 'primary',
    render: (each) => (
      <>
        <a href={linkTo(`/p/${each.platformId}/spaces/${each.id}`)}>{each.name}</a>
        <span class="sub">{each.slug}</span>
      </>
    ),
  },
  { title: 'Visibility', render: (each) => <Status tone={each.visibility === 'open' ? 'good' : 'neutral'}>{each.visibility === 'open' ? 'Open' : 'Private'}</Status> },
  { title: 'Position', kind: 'number', render: (each) => each.position },
  { title: 'Created', kind: 'time', render: (each) => <Time value={each.createdAt} /> },
];

/** The screen. */
export default function Spaces() {
  const platformId = usePlatformId();
  const { name, close } = useDialog();
  const canCreate = useCan(operations.create_space);
  const query = useList(['platforms', platformId, 'spaces'], (client, page, options) => client.platforms.spaces.list(platformId, page, options));
  const createButton = canCreate && <DialogButton dialog="create" kind="primary">Create space</DialogButton>;
  return (
    <>
      <PageHeader title="Spaces" description="Areas of the platform for some of its people, such as a department or a course." actions={createButton} />
      <RoleNotice rule={operations.create_space}>You can open the spaces below.</RoleNotice>
      <List
        query={query}
        noun="space"
        columns={COLUMNS}
        getKey={(each) => each.id}
        empty={
          <Empty title="No spaces yet" action={createButton}>
            Every member of the platform takes part in an open space. A private one has members of its own.
          </Empty>
        }
      />
      {name === 'create' && <CreateDialog onClose={close} />}
    </>
  );
}

function CreateDialog({ onClose }: { onClose: () => void }) {
  const platformId = usePlatformId();
  const toBody = ({ name = '', slug, description, visibility }: Values): SpaceCreate => ({
    platformId,
    name,
    ...(slug ? { slug } : {}),
    ...(description ? { description } : {}),
    visibility: visibility as 'open',
  });
  return (
    <FormDialog
      title="Create a space"
      name="create-space"
      initial={{ name: '', slug: '', description: '', visibility: 'open' }}
      submitLabel="Create space"
      call={(client, values, options) => client.spaces.create(toBody(values), options)}
      changes={[['platforms', platformId, 'spaces']]}
      doneText={(space) => `${space.name} was created.`}
      onDone={(space) => navigate(`/p/${platformId}/spaces/${space.id}`)}
      onClose={onClose}
    >
      {() => (
        <>
          <Field name="name" label="Name" required autoComplete="off" />
          <Field name="slug" label="Slug" hint="Part of its address. Derived from the name if you leave it empty." autoComplete="off" />
          <Field name="description" label="Description" type="textarea" />
          <VisibilityField />
        </>
      )}
    </FormDialog>
  );
}
