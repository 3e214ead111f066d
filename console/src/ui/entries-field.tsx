/** A field with texts by name, such as the colours of a theme. Its value is a JSON object. */

import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { FieldNotes } from './field-notes';
import { useField } from './form';

interface EntriesFieldProps {
  name: string;
  label: string;
  /** What an entry is called, such as “colour”. */
  noun: string;
  /** Names to choose from. Others can be typed. */
  suggestions: readonly string[];
  initialValue: string;
  /** Another control for a value, such as a colour picker. */
  renderControl?: (entry: string, value: string, setValue: (value: string) => void) => ComponentChildren;
  /** Return what is wrong with a value, or null. */
  check?: (value: string) => string | null;
}

/** The field. */
export function EntriesField(props: EntriesFieldProps) {
  const { name, label, noun, suggestions, initialValue } = props;
  const { value, setValue, problem, problemId } = useField(name, false);
  const entries = JSON.parse(value || '{}') as Record<string, string>;
  const update = (changed: Record<string, string>) => setValue(JSON.stringify(changed));
  const remove = (entry: string) => update(Object.fromEntries(Object.entries(entries).filter(([each]) => each !== entry)));
  return (
    <fieldset class="field" aria-describedby={problem ? problemId : undefined}>
      <legend>{label}</legend>
      {Object.entries(entries).map(([entry, text]) => (
        <Entry key={entry} {...props} entry={entry} value={text} onChange={(next) => update({ ...entries, [entry]: next })} onRemove={() => remove(entry)} />
      ))}
      {problem && (
        <span class="problem" id={problemId} role="alert">
          {problem}
        </span>
      )}
      <NewEntry noun={noun} suggestions={suggestions.filter((each) => !(each in entries))} onAdd={(entry) => update({ [entry]: initialValue, ...entries })} />
    </fieldset>
  );
}

interface EntryProps extends EntriesFieldProps {
  entry: string;
  value: string;
  onChange: (value: string) => void;
  onRemove: () => void;
}

function Entry({ entry, value, onChange, onRemove, renderControl, check }: EntryProps) {
  const id = useId();
  const problem = check?.(value) ?? null;
  return (
    <div class="entry">
      <label htmlFor={id}>{entry}</label>
      {renderControl?.(entry, value, onChange)}
      <input
        id={id}
        value={value}
        autoComplete="off"
        aria-invalid={problem ? true : undefined}
        aria-describedby={problem ? `${id}-problem` : undefined}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      <button type="button" class="quiet danger" aria-label={`Remove: ${entry}`} onClick={onRemove}>
        Remove
      </button>
      <FieldNotes problem={problem} problemId={`${id}-problem`} />
    </div>
  );
}

function NewEntry({ noun, suggestions, onAdd }: { noun: string; suggestions: readonly string[]; onAdd: (entry: string) => void }) {
  const [name, setName] = useState('');
  const id = useId();
  const add = () => {
    if (name.trim()) onAdd(name.trim());
    setName('');
  };
  const addOnEnter = (event: KeyboardEvent) => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    add();
  };
  return (
    <div class="entry new-entry">
      <input
        aria-label={`Name of the new ${noun}`}
        placeholder={`Name of a ${noun}`}
        list={id}
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
        onKeyDown={addOnEnter}
      />
      <datalist id={id}>
        {suggestions.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
      <button type="button" class="button" onClick={add}>
        Add {noun}
      </button>
    </div>
  );
}
