/** Asks before changes that are not saved are lost. */

import { useEffect } from 'preact/hooks';
import { parseFragment } from './address';

/** While there are unsaved changes, ask before the page is left by a link or closed. */
export function useUnsavedWarning(isUnsaved: boolean): void {
  useEffect(() => {
    if (!isUnsaved) return undefined;
    const askOnClose = (event: BeforeUnloadEvent) => event.preventDefault();
    const askOnLink = (event: MouseEvent) => {
      const link = event.target instanceof Element ? event.target.closest('a') : null;
      const leaves = link && !link.target && parseFragment(link.hash).path !== parseFragment(location.hash).path;
      if (leaves && !confirm('Leave without saving your changes?')) event.preventDefault();
    };
    addEventListener('beforeunload', askOnClose);
    document.addEventListener('click', askOnLink, { capture: true });
    return () => {
      removeEventListener('beforeunload', askOnClose);
      document.removeEventListener('click', askOnLink, { capture: true });
    };
  }, [isUnsaved]);
}
