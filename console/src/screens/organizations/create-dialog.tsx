/** The dialog that creates an organization. */

import { navigate } from '../../ui/address';
import { Field, type Values } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';

const toBody = (values: Values) => ({ name: values.name ?? '', ...(values.slug ? { slug: values.slug } : {}) });

/** Create an organization, and open it. */
export default function CreateOrganizationDialog({ onClose }: { onClose: () => void }) {
  return (
    <FormDialog
      title="Create an organization"
      name="create-organization"
      initial={{ name: '', slug: '' }}
      submitLabel="Create organization"
      call={(client, values, options) => client.organizations.create(toBody(values), options)}
      changes={[['organizations'], ['me']]}
      doneText={(organization) => `${organization.name} was created.`}
      onDone={(organization) => navigate(`/o/${organization.id}`)}
      onClose={onClose}
    >
      {() => (
        <>
          <Field name="name" label="Name" required autoComplete="organization" />
          <Field name="slug" label="Slug" hint="Part of addresses. Derived from the name if you leave it empty." />
        </>
      )}
    </FormDialog>
  );
}
