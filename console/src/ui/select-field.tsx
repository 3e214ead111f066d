/** A field with many choices, in a list that opens. */

import type { ComponentChildren } from 'preact';
import { FieldNotes } from './field-notes';
import { useField, type Choice } from './form';

interface SelectFieldProps {
  name: string;
  label: string;
  choices: readonly Choice[];
  hint?: ComponentChildren;
  /** The list from which the choices come, if it is read page by page. */
  query?: { hasNextPage: boolean; fetchNextPage: () => unknown };
}

/** Show the field. A value that is no choice is shown as it is, so that it is not lost. */
export function SelectField({ name, label, choices, hint, query }: SelectFieldProps) {
  const { value, setValue, problem, attributes, hintId, problemId } = useField(name, hint !== undefined);
  const isKnown = choices.some((choice) => choice.value === value);
  return (
    <div class="field">
      <label htmlFor={attributes.id}>{label}</label>
      <select {...attributes} name={name} value={value} onChange={(event) => setValue(event.currentTarget.value)}>
        {!isKnown && <option value={value}>{value}</option>}
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value} disabled={choice.disabled}>
            {choice.label}
          </option>
        ))}
      </select>
      {query?.hasNextPage && (
        <button type="button" class="quiet flush" onClick={() => query.fetchNextPage()}>
          Load more
        </button>
      )}
      <FieldNotes hint={hint} hintId={hintId} problem={problem} problemId={problemId} />
    </div>
  );
}
