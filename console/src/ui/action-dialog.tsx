/** The dialog that confirms an action, and tells that it was done. */

import type { ComponentChildren } from 'preact';
import type { ChangeOptions, Client } from '../api/client';
import { useAction, type QueryKey } from '../api/queries';
import { ConfirmDialog } from './dialog';
import { showToast } from './toast';

/** What follows the call of a dialog. `V`: what the user has entered. */
export interface Outcome<T, V = void> {
  /** Keys of the queries whose data the call changes. */
  changes: QueryKey[];
  doneText?: string | ((result: T, values: V) => string);
  /** What follows. Without it, the dialog is closed. */
  onDone?: (result: T, values: V) => void;
  /** What is shown after the call in place of the dialog, such as a secret. If it is null, what else follows is done. */
  renderResult?: (result: T) => ComponentChildren;
  onClose: () => void;
}

/** Make the call of a dialog. `shown` is what is shown after it in place of the dialog. */
export function useDialogAction<T, V>(
  call: (client: Client, values: V, options: ChangeOptions) => PromiseLike<T>,
  { changes, doneText, onDone, renderResult, onClose }: Outcome<T, V>,
) {
  const action = useAction({
    call,
    changes,
    onSuccess: (result, values: V) => {
      if (renderResult?.(result)) return;
      if (doneText) showToast(typeof doneText === 'string' ? doneText : doneText(result, values));
      (onDone ?? onClose)(result, values);
    },
  });
  return { action, shown: action.data === undefined ? null : renderResult?.(action.data) };
}

export interface ActionDialogProps<T> extends Outcome<T> {
  title: string;
  confirmLabel: string;
  /** What has to be typed, if the action cannot be undone. */
  typed?: string;
  /** False for an action that takes nothing away. */
  isDangerous?: boolean;
  /** What happens. */
  children: ComponentChildren;
  call: (client: Client, options?: ChangeOptions) => PromiseLike<T>;
}

/** Confirm an action, or show its result. */
export function ActionDialog<T>({ call, ...props }: ActionDialogProps<T>) {
  const { action, shown } = useDialogAction((client, _: void, options) => call(client, options), props);
  return <>{shown ?? <ConfirmDialog {...props} action={action} call={call} />}</>;
}
