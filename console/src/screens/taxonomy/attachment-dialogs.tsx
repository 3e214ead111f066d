/** The dialogs that file something under a category, and take it out. */

import type { AttachmentCreate, Node } from '../../api/client';
import { useList } from '../../api/queries';
import { ActionDialog } from '../../ui/action-dialog';
import { Field, type Values } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';
import { usePlatformId } from '../../ui/place';
import { SelectField } from '../../ui/select-field';
import { toWords } from '../../ui/status';

interface DialogProps {
  node: Node;
  onClose: () => void;
}

const TYPES = ['space', 'page', 'site', 'platform', 'research-output', 'research-artefact', 'other'];
const TYPE_CHOICES = TYPES.map((value) => ({ value, label: toWords(value.replaceAll('-', ' ')) }));

function toBody({ type = '', otherType = '', spaceId = '', entityId = '' }: Values): AttachmentCreate {
  return { entityType: type === 'other' ? otherType : type, entityId: type === 'space' ? spaceId : entityId };
}

/** File something. */
export function AttachDialog({ node, onClose }: DialogProps) {
  const platformId = usePlatformId();
  const spaces = useList(['platforms', platformId, 'spaces'], (client, page, options) => client.platforms.spaces.list(platformId, page, options));
  const spaceChoices = [{ value: '', label: 'Choose a space' }, ...spaces.items.map(({ id, name }) => ({ value: id, label: name }))];
  return (
    <FormDialog
      title={`File under ${node.name}`}
      name="attach"
      initial={{ type: 'space', otherType: '', spaceId: '', entityId: '' }}
      submitLabel="File"
      isDisabled={(values) => !toBody(values).entityId}
      call={(client, values, options) => client.taxonomyNodes.attachments.create(node.id, toBody(values), options)}
      changes={[['taxonomy', platformId]]}
      doneText={`It was filed under ${node.name}.`}
      onClose={onClose}
    >
      {(values) => (
        <>
          <SelectField name="type" label="What" choices={TYPE_CHOICES} />
          {values.type === 'other' && <Field name="otherType" label="Type" required hint="A type of your own, such as lesson." />}
          {values.type === 'space' ? (
            <SelectField name="spaceId" label="Space" choices={spaceChoices} query={spaces} />
          ) : (
            <Field name="entityId" label="Id" required autoComplete="off" />
          )}
        </>
      )}
    </FormDialog>
  );
}

/** Take something out of a category. */
export function DetachDialog({ node, attachmentId, onClose }: DialogProps & { attachmentId: string }) {
  const platformId = usePlatformId();
  return (
    <ActionDialog
      title={`Take it out of ${node.name}?`}
      confirmLabel="Take out"
      call={(client) => client.taxonomyNodes.attachments.delete(node.id, attachmentId)}
      changes={[['taxonomy', platformId]]}
      doneText={`It is no longer filed under ${node.name}.`}
      onClose={onClose}
    >
      <p>It stays where it is, and is no longer found under this category.</p>
    </ActionDialog>
  );
}
