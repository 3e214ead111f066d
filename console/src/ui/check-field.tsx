/** A field that is on or off. */

import { FieldNotes } from './field-notes';
import { useField } from './form';

/** The value of the field while it is on. It is empty while it is off. */
export const ON = 'true';

/** Show the field. */
export function CheckField({ name, label, hint }: { name: string; label: string; hint?: string }) {
  const { value, setValue, problem, attributes, problemId } = useField(name, false);
  return (
    <div class="field">
      <label class="choice bare">
        <input
          {...attributes}
          type="checkbox"
          name={name}
          checked={value === ON}
          onChange={(event) => setValue(event.currentTarget.checked ? ON : '')}
        />
        <span>
          {label}
          {hint && <span class="hint">{hint}</span>}
        </span>
      </label>
      <FieldNotes problem={problem} problemId={problemId} />
    </div>
  );
}
