/** The command palette: a text field, and what it finds. */

import Combobox from '@github/combobox-nav';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Dialog } from '../ui/dialog';
import type { NavigationLink } from '../ui/navigation';
import { findCommands, useCommands, type Command } from './commands';

const MAX_RESULTS = 30;

interface PaletteProps {
  links: readonly NavigationLink[];
  organizationId: string | undefined;
  onClose: () => void;
}

/** The palette. */
export function Palette({ links, organizationId, onClose }: PaletteProps) {
  const [text, setText] = useState('');
  const found = findCommands(useCommands(links, organizationId), text).slice(0, MAX_RESULTS);
  const { input, list } = useCombobox(text, found);
  const run = (command: Command) => {
    onClose();
    command.run();
  };
  return (
    <Dialog title="Go to" onClose={onClose}>
      <input
        ref={input}
        type="text"
        aria-label="Search screens, organizations and actions"
        autoComplete="off"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <ul ref={list} id="commands" class="commands" role="listbox" aria-label="Results">
        {found.map((command, index) => (
          <li key={`${command.group} ${command.title} ${index}`} role="option" onClick={() => run(command)}>
            <span class="truncate">{command.title}</span>
            <span class="small muted">{command.group}</span>
          </li>
        ))}
      </ul>
      <p class="small muted" role="status">
        {found.length === 0 ? 'Nothing has this name.' : 'Arrow keys choose, Enter opens.'}
      </p>
    </Dialog>
  );
}

/** Let the arrow keys move through the list while the focus stays in the field. The first result is preselected. */
function useCombobox(text: string, found: readonly Command[]) {
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const combobox = useRef<Combobox | null>(null);
  useEffect(() => {
    if (!input.current || !list.current) return;
    const settings = { firstOptionSelectionMode: 'selected', tabInsertsSuggestions: false } as const;
    const created = new Combobox(input.current, list.current, settings);
    combobox.current = created;
    created.start();
    return () => created.destroy();
  }, []);
  const titles = found.map((each) => each.title).join('\n');
  // The library clears the selection whenever the text changes, also if the results stay the same.
  useEffect(() => combobox.current?.resetSelection(), [text, titles]);
  return { input, list };
}
