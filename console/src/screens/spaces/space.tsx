/** The settings of a space. */

import { operations } from '../../api/access';
import type { Space, SpacePatch } from '../../api/client';
import { navigate, useDialog } from '../../ui/address';
import { DeleteDialog } from '../../ui/delete-dialog';
import { CopyText } from '../../ui/copy-text';
import { DeleteSection } from '../../ui/delete-section';
import { Details, type Detail } from '../../ui/details';
import { DialogButton } from '../../ui/dialog-buttons';
import { EditDialog } from '../../ui/edit-form';
import { Field } from '../../ui/form';
import { Section } from '../../ui/page';
import { useCan } from '../../ui/place';
import { RoleNotice } from '../../ui/role-notice';
import { SpaceFrame, useSpace } from './space-frame';
import { VisibilityField } from './visibility';

/** The screen. */
export default function SpaceScreen() {
  const canUpdate = useCan(operations.update_space);
  const editButton = canUpdate && <DialogButton dialog="settings">Edit</DialogButton>;
  return (
    <SpaceFrame>
      {(space) => (
        <>
          <RoleNotice rule={operations.update_space}>You can read the settings of this space.</RoleNotice>
          <Section title="Settings" actions={editButton}>
            <Details items={toDetails(space)} />
          </Section>
          <DeleteSection rule={operations.delete_space} noun="space" description="A deleted space cannot be restored." />
          <Dialogs space={space} />
        </>
      )}
    </SpaceFrame>
  );
}

const VISIBILITIES = {
  open: 'Open: every member of the platform takes part',
  private: 'Private: only its members and admins see it',
};

function toDetails({ id, name, slug, visibility, position }: Space): Detail[] {
  return [['Name', name], ['Slug', slug], ['Visibility', VISIBILITIES[visibility]], ['Position', position], ['Id', <CopyText text={id} label="Copy id" />]];
}

function Dialogs({ space }: { space: Space }) {
  const { name, close: onClose } = useDialog();
  if (name === 'settings') return <SettingsDialog space={space} onClose={onClose} />;
  return name === 'delete' ? <DeleteSpaceDialog space={space} onClose={onClose} /> : null;
}

interface SpaceDialogProps {
  space: Space;
  onClose: () => void;
}

function SettingsDialog({ space, onClose }: SpaceDialogProps) {
  return (
    <EditDialog
      title="Edit settings"
      recordKey={['spaces', space.id]}
      read={(client, options) => client.spaces.get(space.id, options)}
      toFields={({ name, slug, description, visibility, position }: Space) => ({ name, slug, description, visibility, position })}
      save={(client, changes, options) => client.spaces.update(space.id, changes as SpacePatch, options)}
      changes={[['spaces', space.id], ['platforms', space.platformId, 'spaces']]}
      subject={space.name}
      savedText="The settings were saved."
      onClose={onClose}
    >
      {() => (
        <>
          <Field name="name" label="Name" required />
          <Field name="slug" label="Slug" required hint="Part of its address. Others can take the former slug at once." />
          <Field name="description" label="Description" type="textarea" />
          <VisibilityField />
          <Field name="position" label="Position" type="number" hint="Lists are in this order. Empty: after all others." />
        </>
      )}
    </EditDialog>
  );
}

function DeleteSpaceDialog({ space, onClose }: SpaceDialogProps) {
  const etag = useSpace().data?.etag ?? null;
  return (
    <DeleteDialog
      name={space.name}
      call={(client) => client.spaces.delete(space.id, { ifMatch: etag })}
      changes={[['platforms', space.platformId, 'spaces']]}
      onDone={() => navigate(`/p/${space.platformId}/spaces`)}
      onClose={onClose}
    >
      <p>Its members, capabilities and module overrides are deleted with it. The entries of the log stay.</p>
    </DeleteDialog>
  );
}
