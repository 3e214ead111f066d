/** The dialog that deletes a record, after its name was typed. */

import { ActionDialog, type ActionDialogProps } from './action-dialog';

interface DeleteDialogProps extends Pick<ActionDialogProps<unknown>, 'call' | 'changes' | 'children' | 'onDone' | 'onClose'> {
  title?: string;
  confirmLabel?: string;
  /** What has to be typed. */
  name: string;
}

/** Delete a record. */
export function DeleteDialog({ name, title = `Delete ${name}?`, confirmLabel = 'Delete', ...props }: DeleteDialogProps) {
  return <ActionDialog {...props} title={title} confirmLabel={confirmLabel} typed={name} doneText={`${name} was deleted.`} />;
}
