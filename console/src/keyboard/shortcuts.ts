/** The keyboard shortcuts. */

import { SEARCH_KEYS } from './keys';

export interface Shortcut {
  /** The keys, as tinykeys writes them. */
  keys: string;
  label: string;
  /** The screen to which it leads, as a path of an organization. */
  screen?: string;
}

export const SEARCH: Shortcut = { keys: SEARCH_KEYS, label: 'Search screens, organizations and actions' };
export const HELP: Shortcut = { keys: '?', label: 'Show the shortcuts' };
export const FIRST_FILTER: Shortcut = { keys: '/', label: 'Go to the first filter of the list' };

/** Shortcuts to screens of the organization. */
export const SCREEN_SHORTCUTS: readonly Shortcut[] = [
  { keys: 'g o', label: 'Overview', screen: '' },
  { keys: 'g m', label: 'Members', screen: '/members' },
  { keys: 'g i', label: 'Invitations', screen: '/invitations' },
  { keys: 'g l', label: 'Log', screen: '/log' },
  { keys: 'g w', label: 'Webhooks', screen: '/webhooks' },
  { keys: 'g k', label: 'API keys', screen: '/api-keys' },
  { keys: 'g p', label: 'Platforms', screen: '/platforms' },
  { keys: 'g s', label: 'Sites', screen: '/sites' },
];

const STORAGE_KEY = 'atrium.shortcuts';

/** Return whether shortcuts of single characters are on. Speech input can press them by accident (WCAG 2.1.4). */
export function areCharactersEnabled(): boolean {
  return localStorage.getItem(STORAGE_KEY) !== 'off';
}

/** Switch the shortcuts of single characters on or off. */
export function enableCharacters(areEnabled: boolean): void {
  localStorage.setItem(STORAGE_KEY, areEnabled ? 'on' : 'off');
}
