/** A filter by an id or a name, with suggestions that are loaded when somebody starts to use it. */

import { useId, useState } from 'preact/hooks';
import { useParameter } from './address';

export interface Suggestion {
  value: string;
  /** What people choose and see. */
  label: string;
}

interface SuggestFilterProps {
  /** The name of the parameter in the address. */
  parameter: string;
  label: string;
  placeholder: string;
  suggestions?: readonly Suggestion[];
  /** Called when somebody starts to use the filter. */
  onFocus?: () => void;
  /** The name of the chosen value, if the suggestions may not be loaded. */
  valueLabel?: string | null | undefined;
}

/** A filter. What is typed can be a suggestion or any other value. */
export function SuggestFilter({ valueLabel, ...input }: SuggestFilterProps) {
  const { parameter, label, suggestions = [] } = input;
  const [value, setValue] = useParameter(parameter);
  if (!value) return <SuggestInput {...input} suggestions={suggestions} onChoose={setValue} />;
  const name = suggestions.find((each) => each.value === value)?.label ?? valueLabel ?? value;
  return (
    <div class="chosen">
      <span>{label}</span>
      <button type="button" class="button" aria-label={`${label}: ${name}. Remove the filter`} onClick={() => setValue(null)}>
        <span class="truncate">{name}</span>
        <span aria-hidden="true">×</span>
      </button>
    </div>
  );
}

interface SuggestInputProps extends Omit<SuggestFilterProps, 'parameter' | 'valueLabel'> {
  suggestions: readonly Suggestion[];
  onChoose: (value: string | null) => void;
}

function SuggestInput({ label, placeholder, suggestions, onFocus, onChoose }: SuggestInputProps) {
  const [text, setText] = useState('');
  const listId = useId();
  const find = (typed: string) => suggestions.find((each) => each.label === typed);
  const change = (typed: string) => {
    const found = find(typed);
    if (found) onChoose(found.value);
    else setText(typed);
  };
  return (
    <label>
      {label}
      <input
        value={text}
        placeholder={placeholder}
        list={suggestions.length ? listId : undefined}
        autoComplete="off"
        onFocus={onFocus}
        onInput={(event) => change(event.currentTarget.value)}
        onChange={(event) => onChoose(event.currentTarget.value.trim() || null)}
      />
      <datalist id={listId}>
        {suggestions.map((each) => (
          <option key={each.value} value={each.label} />
        ))}
      </datalist>
    </label>
  );
}
