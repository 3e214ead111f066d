/** What the keyboard shows: the command palette, the list of shortcuts, or nothing. */

import { createStore } from '../ui/store';

export const shownStore = createStore<'palette' | 'shortcuts' | null>(null);
