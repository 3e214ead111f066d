/** The dialog that replaces a secret, and shows the new one once. */

import type { CreateOptions, Client } from '../api/client';
import { useAction, type QueryKey } from '../api/queries';
import { Dialog, DialogFooter, SecretDialog } from './dialog';
import { Field, Form, type Values } from './form';

interface RotateDialogProps {
  /** What uses the secret, such as “this webhook”. */
  subject: string;
  call: (client: Client, body: { graceHours: number }, options?: CreateOptions) => PromiseLike<{ secret?: string | null }>;
  changes: QueryKey[];
  onClose: () => void;
}

const toBody = ({ graceHours }: Values) => ({ graceHours: Number(graceHours) });

/** Replace a secret. */
export function RotateDialog({ subject, call, changes, onClose }: RotateDialogProps) {
  const action = useAction({
    call: (client, values: Values, options) => call(client, toBody(values), options),
    changes,
  });
  if (action.data) {
    return (
      <SecretDialog title="The secret was replaced" secret={action.data.secret ?? ''} onClose={onClose}>
        Put the new secret into the receiver. Until the overlap ends, messages have a signature for each of both secrets.
      </SecretDialog>
    );
  }
  return (
    <Dialog title={`Replace the secret of ${subject}?`} onClose={onClose}>
      <Form name="rotate-secret" initial={{ graceHours: '24' }} error={action.error} onSubmit={action.mutate}>
        {(values) => (
          <>
            <Field
              name="graceHours"
              label="Overlap in hours"
              type="number"
              required
              hint="For this time, messages are also signed with the present secret. 0 to 168. Choose 0 if somebody else knows the secret."
            />
            <DialogFooter
              submitLabel="Replace"
              onCancel={onClose}
              isPending={action.isPending}
              call={(client) => call(client, toBody(values))}
            />
          </>
        )}
      </Form>
    </Dialog>
  );
}
