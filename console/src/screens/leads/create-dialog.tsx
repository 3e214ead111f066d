/** The dialog that records somebody who called or wrote. */

import type { LeadCreate } from '../../api/client';
import { Field, type Values } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';

const INITIAL: Values = { contactName: '', contactEmail: '', companyName: '', source: '', message: '' };

function toBody({ contactName = '', contactEmail = '', companyName, source, message }: Values): LeadCreate {
  return { contactName, contactEmail, companyName: companyName || null, source: source || null, message: message || null };
}

/** Add a lead. */
export function CreateDialog({ onClose }: { onClose: () => void }) {
  return (
    <FormDialog
      title="Add a lead"
      name="lead"
      initial={INITIAL}
      submitLabel="Add"
      call={(client, values, options) => client.marketingLeads.create(toBody(values), options)}
      changes={[['leads']]}
      doneText={(lead) => `${lead.contactName} was added.`}
      onClose={onClose}
    >
      {() => (
        <>
          <Field name="contactName" label="Name" required />
          <Field name="contactEmail" label="E-mail address" type="email" required autoComplete="off" />
          <Field name="companyName" label="Company" />
          <Field name="source" label="Source" hint="Where the contact came from, such as a trade fair." />
          <Field name="message" label="Message" type="textarea" />
        </>
      )}
    </FormDialog>
  );
}
