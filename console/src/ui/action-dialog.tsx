/** The dialog that confirms an action, and tells that it was done. */

import type { ComponentChildren } from 'preact';
import type { ChangeOptions, Client } from '../api/client';
import { useAction, type QueryKey } from '../api/queries';
import { ConfirmDialog } from './dialog';
import { showToast } from './toast';

export interface ActionDialogProps<T> {
  title: string;
  confirmLabel: string;
  /** What has to be typed, if the action cannot be undone. */
  typed?: string;
  /** False for an action that takes nothing away. */
  isDangerous?: boolean;
  /** What happens. */
  children: ComponentChildren;
  call: (client: Client, options?: ChangeOptions) => PromiseLike<T>;
  /** Keys of the queries whose data the action changes. */
  changes: QueryKey[];
  doneText?: string | ((result: T) => string);
  /** What follows. Without it, the dialog is closed. */
  onDone?: (result: T) => void;
  /** What is shown after the action in place of the question, such as a secret. */
  renderResult?: (result: T) => ComponentChildren;
  onClose: () => void;
}

/** Confirm an action, or show its result. */
export function ActionDialog<T>({ call, changes, doneText, onDone, renderResult, ...props }: ActionDialogProps<T>) {
  const action = useAction({
    call: (client, _: void, options) => call(client, options),
    changes,
    onSuccess: (result) => {
      if (doneText) showToast(typeof doneText === 'string' ? doneText : doneText(result));
      if (!renderResult) (onDone ?? props.onClose)(result);
    },
  });
  if (renderResult && action.data !== undefined) return <>{renderResult(action.data)}</>;
  return <ConfirmDialog {...props} action={action} call={call} />;
}
