/** The dialog with a form that makes one call, and tells that it was made. */

import type { ComponentChildren } from 'preact';
import type { Client, CreateOptions } from '../api/client';
import { useAction, type QueryKey } from '../api/queries';
import { Dialog, DialogFooter } from './dialog';
import { Form, type Values } from './form';
import { showToast } from './toast';

interface FormDialogProps<T> {
  title: string;
  isWide?: boolean;
  /** Identifies the form, so that its values survive signing in again. */
  name: string;
  initial: Values;
  submitLabel: string;
  isDangerous?: boolean;
  /** Whether the values cannot be submitted yet. */
  isDisabled?: (values: Values) => boolean;
  call: (client: Client, values: Values, options?: CreateOptions) => PromiseLike<T>;
  /** Keys of the queries whose data the call changes. */
  changes: QueryKey[];
  doneText?: string | ((result: T, values: Values) => string);
  /** What follows. Without it, the dialog is closed. */
  onDone?: (result: T, values: Values) => void;
  /** What is shown after the call in place of the form, such as a secret. */
  renderResult?: (result: T) => ComponentChildren;
  onClose: () => void;
  /** The fields. */
  children: (values: Values) => ComponentChildren;
}

/** Show the form, or the result of its call. */
export function FormDialog<T>(props: FormDialogProps<T>) {
  const { title, isWide = false, name, initial, call, doneText, renderResult, onClose, children } = props;
  const action = useAction({
    call: (client, values: Values, options) => call(client, values, options),
    changes: props.changes,
    onSuccess: (result, values) => {
      if (doneText) showToast(typeof doneText === 'string' ? doneText : doneText(result, values));
      if (!renderResult) (props.onDone ?? onClose)(result, values);
    },
  });
  if (renderResult && action.data !== undefined) return <>{renderResult(action.data)}</>;
  return (
    <Dialog title={title} onClose={onClose} isWide={isWide}>
      <Form name={name} initial={initial} error={action.error} onSubmit={action.mutate}>
        {(values) => (
          <>
            {children(values)}
            <DialogFooter
              submitLabel={props.submitLabel}
              onCancel={onClose}
              isPending={action.isPending}
              isDangerous={props.isDangerous ?? false}
              isDisabled={props.isDisabled?.(values) ?? false}
              call={(client) => call(client, values)}
            />
          </>
        )}
      </Form>
    </Dialog>
  );
}
