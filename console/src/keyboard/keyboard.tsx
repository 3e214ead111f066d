/** The keyboard: the command palette and the shortcuts. It is loaded after the first screen. */

import { useEffect } from 'preact/hooks';
import { tinykeys } from 'tinykeys';
import { linkTo } from '../ui/address';
import type { NavigationLink } from '../ui/navigation';
import { useStore } from '../ui/store';
import { Help } from './help';
import { Palette } from './palette';
import { areCharactersEnabled, FIRST_FILTER, HELP, SCREEN_SHORTCUTS, SEARCH } from './shortcuts';
import { shownStore } from './shown';

interface KeyboardProps {
  links: readonly NavigationLink[];
  organizationId: string | undefined;
}

/** Listens to the keyboard, and shows the palette and the list of shortcuts. */
export default function Keyboard({ links, organizationId }: KeyboardProps) {
  const shown = useStore(shownStore);
  useEffect(() => {
    const onCharacter = (run: () => void) => (event: KeyboardEvent) => {
      if (!areCharactersEnabled() || isTyping(event.target) || document.querySelector('dialog[open]')) return;
      event.preventDefault();
      run();
    };
    const goTo = (screen: string) => organizationId && (location.hash = linkTo(`/o/${organizationId}${screen}`));
    const screens = SCREEN_SHORTCUTS.map(({ keys, screen = '' }) => [keys, onCharacter(() => goTo(screen))] as const);
    const openPalette = (event: KeyboardEvent) => {
      event.preventDefault();
      if (!document.querySelector('dialog[open]')) shownStore.set('palette');
    };
    return tinykeys(window, {
      [SEARCH.keys]: openPalette,
      [`Shift+${HELP.keys}`]: onCharacter(() => shownStore.set('shortcuts')),
      [FIRST_FILTER.keys]: onCharacter(() => document.querySelector<HTMLElement>('.filters :is(input, select)')?.focus()),
      ...Object.fromEntries(screens),
    });
  }, [organizationId]);
  const close = () => shownStore.set(null);
  if (shown === 'palette') return <Palette links={links} organizationId={organizationId} onClose={close} />;
  return shown === 'shortcuts' ? <Help onClose={close} /> : null;
}

/** Return whether keys are text for an element. */
function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'));
}
