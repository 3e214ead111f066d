/** The dialog that erases a person, after what names them was typed again. */

import type { ErasureCreate } from '../../api/client';
import { useAction } from '../../api/queries';
import { Dialog, DialogFooter } from '../../ui/dialog';
import { ChoiceField, Field, Form, type Values } from '../../ui/form';
import { useOrganizationId } from '../../ui/place';
import { showToast } from '../../ui/toast';

const KINDS = [
  { value: 'email', label: 'E-mail address', hint: 'All users who proved here that they own it.' },
  { value: 'userId', label: 'User id', hint: 'All addresses that the user proved here to own.' },
  { value: 'actor', label: 'Actor of application events', hint: 'A person whom only your application knows.' },
];

const INITIAL: Values = { kind: 'email', email: '', userId: '', actor: '', actorType: 'customer', confirmation: '' };

function toBody({ kind, email, userId, actor = '', actorType = '' }: Values): ErasureCreate {
  if (kind === 'email') return { email: email || null };
  return kind === 'userId' ? { userId: userId || null } : { actor: { type: actorType, id: actor } };
}

/** Erase a person. */
export function ErasePersonDialog({ onClose }: { onClose: () => void }) {
  const organizationId = useOrganizationId();
  const action = useAction({
    call: (client, body: ErasureCreate, options) => client.organizations.erasures.create(organizationId, body, options),
    changes: [['organizations', organizationId]],
    onSuccess: () => {
      showToast('The erasure has started.');
      onClose();
    },
  });
  return (
    <Dialog title="Erase a person" onClose={onClose}>
      <Form name="erase-person" initial={INITIAL} error={action.error} onSubmit={(values) => action.mutate(toBody(values))}>
        {(values) => <EraseFields values={values} isPending={action.isPending} onClose={onClose} />}
      </Form>
    </Dialog>
  );
}

interface EraseFieldsProps {
  values: Values;
  isPending: boolean;
  onClose: () => void;
}

function EraseFields({ values, isPending, onClose }: EraseFieldsProps) {
  const organizationId = useOrganizationId();
  const subject = values[values.kind ?? '']?.trim() ?? '';
  return (
    <>
      <ChoiceField name="kind" label="Who is named by" choices={KINDS} />
      <SubjectFields kind={values.kind ?? ''} />
      <p class="notice warning">
        The person loses all memberships here. Their name, address and id are removed from records and from the log. This cannot
        be undone.
      </p>
      <Field name="confirmation" label={subject ? `Type ${subject} to confirm` : 'Type the same again to confirm'} required autoComplete="off" />
      <DialogFooter
        submitLabel="Erase"
        onCancel={onClose}
        isPending={isPending}
        isDisabled={!subject || values.confirmation?.trim() !== subject}
        isDangerous
        call={(client) => client.organizations.erasures.create(organizationId, toBody(values))}
      />
    </>
  );
}

function SubjectFields({ kind }: { kind: string }) {
  return (
    <>
      {kind === 'email' && <Field name="email" label="E-mail address" type="email" required autoComplete="off" />}
      {kind === 'userId' && <Field name="userId" label="User id" required autoComplete="off" />}
      {kind === 'actor' && (
        <>
          <Field name="actorType" label="Type of the actor" required autoComplete="off" />
          <Field name="actor" label="Id of the actor" required autoComplete="off" />
        </>
      )}
    </>
  );
}
