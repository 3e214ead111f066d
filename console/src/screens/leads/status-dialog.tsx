/** The dialog that moves a lead to another status, with a note. */

import type { Lead, LeadStatusPatch } from '../../api/client';
import { useList } from '../../api/queries';
import { EditDialog } from '../../ui/edit-form';
import { ChoiceField, Field } from '../../ui/form';
import { Failed, Loading } from '../../ui/states';
import { toWords } from '../../ui/status';

interface StatusDialogProps {
  id: string;
  onClose: () => void;
}

const FORMATS = { status: toWords };

const nameOf = (lead: Lead | null) => lead?.contactName ?? 'lead';

/** Move a lead. */
export function StatusDialog({ id, onClose }: StatusDialogProps) {
  return (
    <EditDialog
      title={(lead) => `Move ${nameOf(lead)}`}
      recordKey={['leads', id]}
      read={(client, options) => client.marketingLeads.get(id, options)}
      // The note is added to those of the lead, so it is empty at first.
      toFields={({ status }: Lead) => ({ status, note: '' })}
      save={(client, changes, options) => client.marketingLeads.changeStatus(id, changes as LeadStatusPatch, options)}
      changes={[['leads']]}
      subject={nameOf}
      formats={FORMATS}
      savedText={(lead) => `${nameOf(lead)} was changed.`}
      onClose={onClose}
    >
      {(_, { status }) => (
        <>
          <StatusField status={status} />
          <Field name="note" label="Note" type="textarea" hint="For other operators. The sender does not see it." />
        </>
      )}
    </EditDialog>
  );
}

/** The choice between the current status, and those that can follow it. */
function StatusField({ status }: { status: Lead['status'] }) {
  const query = useList(['lead-statuses'], (client, page, options) => client.marketingLeads.statuses.list(page, options));
  if (query.isPending) return <Loading lines={3} />;
  if (query.error && query.items.length === 0) return <Failed error={query.error} onRetry={() => query.refetch()} />;
  const option = query.items.find((each) => each.status === status);
  const choices = [status, ...(option?.next ?? [])].map((each) => ({ value: each, label: toWords(each) }));
  return (
    <>
      <ChoiceField name="status" label="Status" choices={choices} />
      {option?.terminal && <p class="small muted">No other status follows {option.label}. You can add notes.</p>}
    </>
  );
}
