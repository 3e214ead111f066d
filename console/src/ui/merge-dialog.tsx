/** The dialog after a conflict: what you wrote, what is stored now, and what it was when you started. */

import { useState } from 'preact/hooks';
import { Dialog } from './dialog';
import { mergeChanges, type Fields } from './merge';
import { Problem } from './states';
import { toWords } from './status';

interface MergeDialogProps {
  /** What the record is called, such as the name of a person. */
  subject: string;
  base: Fields;
  yours: Fields;
  theirs: Fields;
  /** Names of fields for people. */
  labels: Record<string, string>;
  isPending: boolean;
  /** Why applying failed, if it did. */
  error?: Error | null;
  /** Called with the fields to change. It has no fields if all of theirs are kept. */
  onApply: (changes: Fields) => void;
  onClose: () => void;
}

/** Lets the user decide field by field. Nothing is applied by itself. */
export function MergeDialog({ subject, base, yours, theirs, labels, isPending, error, onApply, onClose }: MergeDialogProps) {
  const edited = Object.keys(yours).filter((name) => JSON.stringify(yours[name]) !== JSON.stringify(base[name]));
  const [choices, setChoices] = useState<Record<string, 'yours' | 'theirs'>>({});
  const isDecided = edited.every((name) => choices[name]);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const keepTheirs = new Set(edited.filter((name) => choices[name] === 'theirs'));
    onApply(mergeChanges(yours, theirs, base, keepTheirs));
  };
  return (
    <Dialog title="Somebody changed this while you were editing" onClose={onClose} isWide>
      <p class="muted">Choose what to keep for {subject}. Nothing is saved until you apply it.</p>
      <form class="stack" onSubmit={submit}>
        {error && <Problem error={error} />}
        {edited.map((name) => (
          <MergeField
            key={name}
            name={name}
            label={labels[name] ?? toWords(name)}
            values={{ yours: yours[name], theirs: theirs[name], base: base[name] }}
            choice={choices[name]}
            onChoose={(choice) => setChoices({ ...choices, [name]: choice })}
          />
        ))}
        <div class="dialog-footer">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button primary" disabled={!isDecided || isPending}>
            Apply
          </button>
        </div>
      </form>
    </Dialog>
  );
}

interface MergeFieldProps {
  name: string;
  label: string;
  values: { yours: unknown; theirs: unknown; base: unknown };
  choice: 'yours' | 'theirs' | undefined;
  onChoose: (choice: 'yours' | 'theirs') => void;
}

function MergeField({ name, label, values, choice, onChoose }: MergeFieldProps) {
  return (
    <fieldset class="field">
      <legend>{label}</legend>
      <div class="merge">
        {(['yours', 'theirs'] as const).map((side) => (
          <label key={side} class="choice">
            <input type="radio" name={name} checked={choice === side} onChange={() => onChoose(side)} />
            <span>
              <strong>{side === 'yours' ? 'Yours' : 'Theirs'}</strong>
              <span class="hint value">{formatValue(values[side])}</span>
            </span>
          </label>
        ))}
        <div class="choice">
          <span>
            <strong>As it was</strong>
            <span class="hint value">{formatValue(values.base)}</span>
          </span>
        </div>
      </div>
    </fieldset>
  );
}

function formatValue(value: unknown): string {
  if (value === null || value === undefined || value === '') return 'Empty';
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}
