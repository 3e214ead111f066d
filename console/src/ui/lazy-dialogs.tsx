/** Dialogs of a screen that are loaded when the address names one, so that the screen itself stays small. */

import type { ComponentChildren } from 'preact';
import { Suspense } from 'preact/compat';
import { useParameter } from './address';

/** Render the dialogs once the parameter `dialog` is set. */
export function LazyDialogs({ children }: { children: ComponentChildren }) {
  const [dialog] = useParameter('dialog');
  return dialog ? <Suspense fallback={null}>{children}</Suspense> : null;
}
