/** The command palette: a text field, and what it finds. */

import { useEffect, useState } from 'preact/hooks';
import { Dialog } from '../ui/dialog';
import type { NavigationLink } from '../ui/navigation';
import { findCommands, useCommands, type Command } from './commands';

const MAX_RESULTS = 30;

/** How far the keys move through the results. */
const STEPS: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };

interface PaletteProps {
  links: readonly NavigationLink[];
  organizationId: string | undefined;
  onClose: () => void;
}

/** The palette: a combobox, as the ARIA Authoring Practices describe it. The focus stays in the text field. */
export function Palette({ links, organizationId, onClose }: PaletteProps) {
  const [text, setText] = useState('');
  const found = findCommands(useCommands(links, organizationId), text).slice(0, MAX_RESULTS);
  const run = (command: Command) => {
    onClose();
    command.run();
  };
  const { selected, press } = useSelection(found, text, run);
  return (
    <Dialog title="Go to" onClose={onClose}>
      <input
        type="text"
        role="combobox"
        aria-label="Search screens, organizations and actions"
        aria-autocomplete="list"
        aria-expanded={true}
        aria-controls="commands"
        aria-activedescendant={found.length > 0 ? idOf(selected) : undefined}
        autoComplete="off"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={press}
      />
      <Results found={found} selected={selected} onRun={run} />
      <p class="small muted" role="status">
        {found.length === 0 ? 'Nothing has this name.' : 'Arrow keys choose, Enter opens.'}
      </p>
    </Dialog>
  );
}

/** Return the result that is selected, which is the first one for a new text, and what the keys do. */
function useSelection(found: readonly Command[], text: string, onRun: (command: Command) => void) {
  const [chosen, setChosen] = useState({ text, index: 0 });
  const selected = chosen.text === text ? Math.min(chosen.index, found.length - 1) : 0;
  useEffect(() => document.getElementById(idOf(selected))?.scrollIntoView({ block: 'nearest' }), [selected]);
  const press = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    const command = found[selected];
    // Input methods use these keys to choose a character.
    if (event.isComposing || !command || (!step && event.key !== 'Enter')) return;
    event.preventDefault();
    if (step) setChosen({ text, index: (selected + step + found.length) % found.length });
    else onRun(command);
  };
  return { selected, press };
}

const idOf = (index: number) => `command-${index}`;

interface ResultsProps {
  found: readonly Command[];
  selected: number;
  onRun: (command: Command) => void;
}

function Results({ found, selected, onRun }: ResultsProps) {
  return (
    <ul id="commands" class="commands" role="listbox" aria-label="Results">
      {found.map((command, index) => (
        <li key={index} id={idOf(index)} role="option" aria-selected={index === selected} onClick={() => onRun(command)}>
          <span class="truncate">{command.title}</span>
          <span class="small muted">{command.group}</span>
        </li>
      ))}
    </ul>
  );
}
