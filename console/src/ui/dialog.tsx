/** Dialogs with a call of the API, which they offer as a curl command. */

import type { ComponentChildren, Ref } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Client } from '../api/client';
import { CurlButton } from './curl-button';
import { Dialog, type DialogProps } from './modal';
import { Problem } from './states';

export { Dialog, SecretDialog } from './modal';

interface DetailDialogProps extends Omit<DialogProps, 'isWide' | 'canDismiss'> {
  /** Further buttons. */
  actions?: ComponentChildren;
}

/** A record in a dialog, with nothing to submit. */
export function DetailDialog({ title, onClose, children, actions }: DetailDialogProps) {
  const close = (event: SubmitEvent) => {
    event.preventDefault();
    onClose();
  };
  return (
    <Dialog title={title} onClose={onClose} isWide>
      {children}
      <form class="dialog-footer" onSubmit={close}>
        {actions}
        <button type="submit" class="button">
          Close
        </button>
      </form>
    </Dialog>
  );
}

interface DialogFooterProps {
  submitLabel: string;
  onCancel: () => void;
  cancelLabel?: string;
  isPending: boolean;
  isDangerous?: boolean;
  isDisabled?: boolean;
  cancelRef?: Ref<HTMLButtonElement>;
  /** The call that the button makes, for “Copy as curl”. */
  call: (client: Client) => PromiseLike<unknown>;
}

/** The buttons of a form in a dialog. */
export function DialogFooter(props: DialogFooterProps) {
  const { submitLabel, onCancel, cancelLabel = 'Cancel', isPending, isDangerous, isDisabled, cancelRef = null, call } = props;
  return (
    <div class="dialog-footer">
      <CurlButton call={call} />
      <button type="button" class="button" ref={cancelRef} onClick={onCancel}>
        {cancelLabel}
      </button>
      <button type="submit" class={`button ${isDangerous ? 'danger' : 'primary'}`} disabled={isPending || isDisabled}>
        {isPending ? 'Working' : submitLabel}
      </button>
    </div>
  );
}

interface ConfirmDialogProps {
  title: string;
  /** What happens. */
  children: ComponentChildren;
  confirmLabel: string;
  /** What has to be typed, if the action cannot be undone. */
  typed?: string;
  action: { mutate: () => void; isPending: boolean; error: Error | null };
  call: (client: Client) => PromiseLike<unknown>;
  onClose: () => void;
  /** False for an action that takes nothing away. */
  isDangerous?: boolean;
}

/** A question before an action. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { title, children, confirmLabel, typed, action, call, onClose, isDangerous = true } = props;
  const [text, setText] = useState('');
  const cancel = useRef<HTMLButtonElement>(null);
  // The browser focuses the first button, which copies the command. Without a field, the safe one is better.
  useEffect(() => {
    if (!typed) cancel.current?.focus();
  }, []);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    action.mutate();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        {action.error && <Problem error={action.error} />}
        <div>{children}</div>
        {typed && (
          <label class="field">
            <span>
              Type <strong>{typed}</strong> to confirm
            </span>
            <input name="confirmation" value={text} autoComplete="off" onInput={(e) => setText(e.currentTarget.value)} />
          </label>
        )}
        <DialogFooter
          submitLabel={confirmLabel}
          onCancel={onClose}
          isPending={action.isPending}
          isDisabled={typed !== undefined && text.trim() !== typed}
          isDangerous={isDangerous}
          cancelRef={cancel}
          call={call}
        />
      </form>
    </Dialog>
  );
}
