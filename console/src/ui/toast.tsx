/** Short confirmations, which screen readers announce. */

import { createStore, useStore } from './store';

const SHOWN_MS = 6_000;

const toastStore = createStore<readonly { id: number; text: string }[]>([]);
let lastId = 0;

/** Show a confirmation for some seconds. */
export function showToast(text: string): void {
  const id = ++lastId;
  toastStore.set([...toastStore.get(), { id, text }]);
  setTimeout(() => toastStore.set(toastStore.get().filter((each) => each.id !== id)), SHOWN_MS);
}

/** The place where confirmations appear. */
export function Toasts() {
  return (
    <div class="toasts" role="status">
      {useStore(toastStore).map(({ id, text }) => (
        <p key={id} class="toast">
          {text}
        </p>
      ))}
    </div>
  );
}
