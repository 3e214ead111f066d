/** A field with a date and a time, in the chosen zone. Its value is RFC 3339. */

import type { ComponentChildren } from 'preact';
import { FieldNotes } from './field-notes';
import { useField } from './form';
import { TimeLabel, useZone } from './time';
import { parseTimeOrNull, toInputTime } from './time-format';

interface TimeFieldProps {
  name: string;
  label: string;
  hint?: ComponentChildren;
  required?: boolean;
}

/** A field with a date and a time. */
export function TimeField({ name, label, hint, required = false }: TimeFieldProps) {
  const { value, setValue, problem, attributes, hintId, problemId } = useField(name, hint !== undefined);
  const zone = useZone();
  return (
    <div class="field">
      <label htmlFor={attributes.id}>
        <TimeLabel>{label}</TimeLabel>
        {!required && <span class="muted"> (optional)</span>}
      </label>
      <input
        {...attributes}
        type="datetime-local"
        name={name}
        required={required}
        value={value && toInputTime(value, zone)}
        onInput={(event) => setValue(parseTimeOrNull(event.currentTarget.value, zone) ?? '')}
      />
      <FieldNotes hint={hint} hintId={hintId} problem={problem} problemId={problemId} />
    </div>
  );
}
