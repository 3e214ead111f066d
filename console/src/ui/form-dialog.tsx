/** The dialog with a form that makes one call, and tells that it was made. */

import type { ComponentChildren } from 'preact';
import type { Client, CreateOptions } from '../api/client';
import { useDialogAction, type Outcome } from './action-dialog';
import { Dialog, DialogFooter } from './dialog';
import { Form, type Values } from './form';

interface FormDialogProps<T> extends Outcome<T, Values> {
  title: string;
  isWide?: boolean;
  /** Identifies the form, so that its values survive signing in again. */
  name: string;
  initial: Values;
  submitLabel: string | ((values: Values) => string);
  isDangerous?: boolean;
  /** Whether the values cannot be submitted yet. */
  isDisabled?: (values: Values) => boolean;
  call: (client: Client, values: Values, options?: CreateOptions) => PromiseLike<T>;
  /** The fields. */
  children: (values: Values) => ComponentChildren;
}

/** Show the form, or the result of its call. */
export function FormDialog<T>(props: FormDialogProps<T>) {
  const { title, isWide = false, name, initial, submitLabel, call, onClose } = props;
  const { action, shown } = useDialogAction(call, props);
  if (shown) return <>{shown}</>;
  return (
    <Dialog title={title} onClose={onClose} isWide={isWide}>
      <Form name={name} initial={initial} error={action.error} onSubmit={action.mutate}>
        {(values) => (
          <>
            {props.children(values)}
            <DialogFooter
              submitLabel={typeof submitLabel === 'string' ? submitLabel : submitLabel(values)}
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
