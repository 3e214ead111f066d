/** Buttons that open the dialogs of a screen: single ones, several beside each other, and those in a row of a table. */

import type { ComponentChildren } from 'preact';
import { useParameter } from './address';
import type { Column } from './table';

/** Return the dialog in the address: its name, the id of its record, and functions that open another and close it. */
export function useDialog() {
  const [value, open] = useParameter('dialog');
  const [name = '', id = ''] = (value ?? '').split(':');
  return { name, id, open, close: () => open(null) };
}

interface DialogButtonProps {
  dialog: string;
  kind?: 'primary' | 'danger' | undefined;
  children: ComponentChildren;
}

/** A button that opens a dialog. */
export function DialogButton({ dialog, kind, children }: DialogButtonProps) {
  const [, setDialog] = useParameter('dialog');
  return (
    <button type="button" class={kind ? `button ${kind}` : 'button'} onClick={() => setDialog(dialog)}>
      {children}
    </button>
  );
}

interface DialogAction {
  /** The name of the dialog. In the address, the id of a record of a table follows it. */
  dialog: string;
  text: string;
  isShown?: boolean;
  kind?: 'primary' | 'danger';
}

const shownOf = (actions: readonly DialogAction[]) => actions.filter(({ isShown = true }) => isShown);

/** Several buttons, such as those in the head of a screen or at the foot of a panel. */
export function DialogButtons({ actions }: { actions: readonly DialogAction[] }) {
  return (
    <>
      {shownOf(actions).map(({ dialog, text, kind }) => (
        <DialogButton key={dialog} dialog={dialog} kind={kind}>
          {text}
        </DialogButton>
      ))}
    </>
  );
}

interface RowActionsProps {
  /** What the record is called, for screen readers. */
  name: string;
  id: string;
  actions: readonly DialogAction[];
}

/** The buttons in a row of a table. Each opens a dialog about the record. */
export function RowActions({ name, id, actions }: RowActionsProps) {
  const [, setDialog] = useParameter('dialog');
  return (
    <>
      {shownOf(actions).map(({ dialog, text, kind }) => (
        <button
          key={dialog}
          type="button"
          class={kind === 'danger' ? 'quiet danger' : 'quiet'}
          aria-label={`${text}: ${name}`}
          onClick={() => setDialog(`${dialog}:${id}`)}
        >
          {text}
        </button>
      ))}
    </>
  );
}

/** Return the column with the buttons of each row. */
export function actionsColumn<T>(describe: (item: T) => RowActionsProps): Column<T> {
  return { title: 'Actions', kind: 'actions', render: (item) => <RowActions {...describe(item)} /> };
}
