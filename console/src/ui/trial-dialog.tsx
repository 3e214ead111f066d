/** The dialog that sends a test message, and shows what the receiver answered. */

import type { ComponentChildren } from 'preact';
import type { Client, CreateOptions, Trial } from '../api/client';
import { useAction, type QueryKey } from '../api/queries';
import { ConfirmDialog } from './dialog';
import { Status } from './status';

interface TrialDialogProps {
  /** What is sent, and to whom. */
  children: ComponentChildren;
  call: (client: Client, options?: CreateOptions) => PromiseLike<Trial>;
  changes: QueryKey[];
  onClose: () => void;
}

/** Send a test message, as often as the user wants. */
export function TrialDialog({ children, call, changes, onClose }: TrialDialogProps) {
  const action = useAction({ call: (client, _: void, options) => call(client, options), changes });
  return (
    <ConfirmDialog
      title="Send a test message"
      confirmLabel={action.data ? 'Send again' : 'Send'}
      isDangerous={false}
      action={action}
      call={call}
      onClose={onClose}
    >
      <div class="stack">
        <p>{children}</p>
        {action.data && <TrialResult trial={action.data} />}
      </div>
    </ConfirmDialog>
  );
}

function TrialResult({ trial }: { trial: Trial }) {
  return (
    <div class={trial.delivered ? 'notice good' : 'notice bad'} role="status">
      <Status tone={trial.delivered ? 'good' : 'bad'}>{trial.delivered ? 'Delivered' : 'Not delivered'}</Status>
      <p>
        {trial.statusCode === null ? 'No response' : `Response ${trial.statusCode}`} after {trial.durationMs} ms.
      </p>
      {trial.error && <p>{trial.error}</p>}
    </div>
  );
}
