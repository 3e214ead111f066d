/** Dialogs, on the browser's own `<dialog>`: it holds the focus, and returns it when it closes. */

import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { CopyButton } from './copy';

export interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  isWide?: boolean;
  /** Whether Escape closes it. False while it shows what is never shown again. */
  canDismiss?: boolean;
}

/** A modal dialog, open as long as it is rendered. */
export function Dialog({ title, onClose, children, isWide = false, canDismiss = true }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // Before the first paint, so that no key is lost to the screen below.
  useLayoutEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  const cancel = (event: Event) => {
    event.preventDefault();
    if (canDismiss) onClose();
  };
  return (
    <dialog ref={element} class={isWide ? 'wide' : ''} aria-labelledby={titleId} onCancel={cancel}>
      <div class="dialog-body">
        <h2 id={titleId}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

interface SecretDialogProps {
  title: string;
  secret: string;
  /** What the secret is for, and where to get another. */
  children: ComponentChildren;
  onClose: () => void;
}

/** A secret that is shown once. The dialog closes only after the user has confirmed that they have it. */
export function SecretDialog({ title, secret, children, onClose }: SecretDialogProps) {
  const [isStored, setIsStored] = useState(false);
  return (
    <Dialog title={title} onClose={onClose} canDismiss={isStored}>
      <p>{children}</p>
      <div class="secret">
        <code>{secret}</code>
        <CopyButton text={secret} label="Copy" />
      </div>
      <label class="choice bare">
        <input type="checkbox" checked={isStored} onChange={(event) => setIsStored(event.currentTarget.checked)} />
        <span>I have copied it. It is not shown again.</span>
      </label>
      <div class="dialog-footer">
        <button type="button" class="button primary" disabled={!isStored} onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
