/** Dialogs of a screen that are loaded when the address names one, so that the screen itself stays small. */

import type { ComponentType } from 'preact';
import { useParameter } from './address';
import { lazy } from './lazy';

/** Return a component that loads and shows dialogs once the parameter `dialog` is set. */
export function lazyDialogs<Props extends object>(load: () => Promise<{ default: ComponentType<Props> }>): ComponentType<Props> {
  const Dialogs = lazy(load);
  return function LazyDialogs(props: Props) {
    const [dialog] = useParameter('dialog');
    return dialog ? <Dialogs {...props} /> : null;
  };
}
