/** Filters of lists. Their values are in the address. */

import { useEffect, useState } from 'preact/hooks';
import { useParameter } from './address';
import { toWords } from './status';

const TYPING_PAUSE_MS = 300;

interface FilterProps {
  /** The name of the parameter in the address. */
  parameter: string;
  label: string;
}

/** A filter with a few values. */
export function SelectFilter({ parameter, label, choices }: FilterProps & { choices: readonly string[] }) {
  const [value, setValue] = useParameter(parameter);
  return (
    <label>
      {label}
      <select value={value ?? ''} onChange={(event) => setValue(event.currentTarget.value || null)}>
        <option value="">All</option>
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {toWords(choice)}
          </option>
        ))}
      </select>
    </label>
  );
}

interface TextFilterProps extends FilterProps {
  type?: 'search' | 'date' | 'number';
  placeholder?: string;
}

/** A filter with any text. The address changes when the user stops typing. */
export function TextFilter({ parameter, label, type = 'search', placeholder }: TextFilterProps) {
  const [value, setValue] = useParameter(parameter);
  const [text, setText] = useState(value ?? '');
  useEffect(() => setText(value ?? ''), [value]);
  useEffect(() => {
    if (text === (value ?? '')) return;
    const timer = setTimeout(() => setValue(text || null), TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <label>
      {label}
      <input type={type} value={text} placeholder={placeholder} onInput={(event) => setText(event.currentTarget.value)} />
    </label>
  );
}
