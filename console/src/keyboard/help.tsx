/** The dialog that lists the keyboard shortcuts. */

import { useState } from 'preact/hooks';
import { Details } from '../ui/details';
import { Dialog } from '../ui/dialog';
import { describeKeys } from './keys';
import {
  areCharactersEnabled, enableCharacters, FIRST_FILTER, HELP, SCREEN_SHORTCUTS, SEARCH, type Shortcut,
} from './shortcuts';

/** The list of shortcuts, and the switch for those of single characters. */
export function Help({ onClose }: { onClose: () => void }) {
  const [areEnabled, setEnabled] = useState(areCharactersEnabled);
  const change = (isChecked: boolean) => {
    enableCharacters(isChecked);
    setEnabled(isChecked);
  };
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <Keys shortcuts={[SEARCH, HELP, FIRST_FILTER]} />
      <h3>Screens of the organization</h3>
      <Keys shortcuts={SCREEN_SHORTCUTS} />
      <label class="choice bare">
        <input type="checkbox" checked={areEnabled} onChange={(event) => change(event.currentTarget.checked)} />
        <span>Use shortcuts of single characters</span>
      </label>
      <div class="dialog-footer">
        <button type="button" class="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

function Keys({ shortcuts }: { shortcuts: readonly Shortcut[] }) {
  return <Details items={shortcuts.map(({ keys, label }) => [<kbd>{describeKeys(keys)}</kbd>, label] as const)} />;
}
