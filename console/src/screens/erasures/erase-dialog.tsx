/** The dialog that erases a person, after what names them was typed again. */

import type { ErasureCreate } from '../../api/client';
import { ChoiceField, Field, type Values } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';
import { useOrganizationId } from '../../ui/place';

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

const subjectOf = (values: Values) => values[values.kind ?? '']?.trim() ?? '';

/** Erase a person. */
export function ErasePersonDialog({ onClose }: { onClose: () => void }) {
  const organizationId = useOrganizationId();
  return (
    <FormDialog
      title="Erase a person"
      name="erase-person"
      initial={INITIAL}
      submitLabel="Erase"
      isDangerous
      isDisabled={(values) => !subjectOf(values) || values.confirmation?.trim() !== subjectOf(values)}
      call={(client, values, options) => client.organizations.erasures.create(organizationId, toBody(values), options)}
      changes={[['organizations', organizationId]]}
      doneText="The erasure has started."
      onClose={onClose}
    >
      {(values) => (
        <>
          <ChoiceField name="kind" label="Who is named by" choices={KINDS} />
          <SubjectFields kind={values.kind ?? ''} />
          <p class="notice warning">
            The person loses all memberships here. Their name, address and id are removed from records and from the log. This
            cannot be undone.
          </p>
          <Field name="confirmation" label={`Type ${subjectOf(values) || 'the same again'} to confirm`} required autoComplete="off" />
        </>
      )}
    </FormDialog>
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
