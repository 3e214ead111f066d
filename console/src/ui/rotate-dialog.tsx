/** The dialog that replaces a secret, and shows the new one once. */

import type { CreateOptions, Client } from '../api/client';
import type { QueryKey } from '../api/queries';
import { SecretDialog } from './dialog';
import { Field } from './form';
import { FormDialog } from './form-dialog';

interface RotateDialogProps {
  /** What uses the secret, such as “this webhook”. */
  subject: string;
  call: (client: Client, body: { graceHours: number }, options?: CreateOptions) => PromiseLike<{ secret?: string | null }>;
  changes: QueryKey[];
  onClose: () => void;
}

/** Replace a secret. */
export function RotateDialog({ subject, call, changes, onClose }: RotateDialogProps) {
  return (
    <FormDialog
      title={`Replace the secret of ${subject}?`}
      name="rotate-secret"
      initial={{ graceHours: '24' }}
      submitLabel="Replace"
      call={(client, { graceHours }, options) => call(client, { graceHours: Number(graceHours) }, options)}
      changes={changes}
      renderResult={({ secret }) => (
        <SecretDialog title="The secret was replaced" secret={secret ?? ''} onClose={onClose}>
          Put the new secret into the receiver. Until the overlap ends, messages have a signature for each of both secrets.
        </SecretDialog>
      )}
      onClose={onClose}
    >
      {() => (
        <Field
          name="graceHours"
          label="Overlap in hours"
          type="number"
          required
          hint="For this time, messages are also signed with the present secret. 0 to 168. Choose 0 if somebody else knows the secret."
        />
      )}
    </FormDialog>
  );
}
