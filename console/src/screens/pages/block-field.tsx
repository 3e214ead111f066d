/** A field of a block. */

import { useId, useState } from 'preact/hooks';
import { fieldProblemOrNull } from '../../api/problems';
import { FieldNotes } from '../../ui/field-notes';
import { parseObjectOrNull } from '../../ui/field-values';
import { formatValue, type BlockField } from './blocks';

interface BlockFieldProps {
  field: BlockField;
  value: unknown;
  /** Where the field is in a request (RFC 6901), for problems with it. */
  pointer: string;
  error: unknown;
  onChange: (value: unknown) => void;
}

/** Show the field by its kind. */
export function BlockInput({ field, value, pointer, error, onChange }: BlockFieldProps) {
  const id = useId();
  const [invalidText, setInvalidText] = useState<string | null>(null);
  const problem = invalidText === null ? fieldProblemOrNull(error, pointer) : 'This is not a JSON object, so it is not part of the draft.';
  const attributes = { id, 'aria-invalid': problem ? true : undefined, 'aria-describedby': problem ? `${id}-problem` : undefined };
  const change = (text: string) => {
    const parsed = field.kind === 'json' ? parseObjectOrNull(text) : parseValue(field, text);
    const isInvalid = field.kind === 'json' && parsed === null;
    setInvalidText(isInvalid ? text : null);
    if (!isInvalid) onChange(parsed);
  };
  return (
    <div class="field">
      {field.kind === 'check' ? (
        <label class="choice bare">
          <input {...attributes} type="checkbox" checked={value === true} onChange={(event) => onChange(event.currentTarget.checked)} />
          <span>{field.label}</span>
        </label>
      ) : (
        <>
          <label htmlFor={id}>
            {field.label}
            {field.isOptional && <span class="muted"> (optional)</span>}
          </label>
          <Control field={field} attributes={{ ...attributes, value: invalidText ?? formatValue(value) }} onChange={change} />
        </>
      )}
      <FieldNotes problem={problem} problemId={`${id}-problem`} />
    </div>
  );
}

function parseValue(field: BlockField, text: string): unknown {
  if (field.kind === 'lines') return text.split('\n');
  if (field.kind === 'level') return Number(text);
  return text || (field.emptyIsNull ? null : '');
}

interface ControlProps {
  field: BlockField;
  attributes: { id: string; value: string; 'aria-invalid': boolean | undefined; 'aria-describedby': string | undefined };
  onChange: (text: string) => void;
}

function Control({ field, attributes, onChange }: ControlProps) {
  if (field.kind === 'level') {
    return (
      <select {...attributes} onChange={(event) => onChange(event.currentTarget.value)}>
        {[1, 2, 3, 4, 5, 6].map((level) => (
          <option key={level}>{level}</option>
        ))}
      </select>
    );
  }
  if (field.kind === 'line') {
    return <input {...attributes} autoComplete="off" onInput={(event) => onChange(event.currentTarget.value)} />;
  }
  const isCode = field.kind === 'json' || field.label === 'Code';
  return <textarea {...attributes} class={isCode ? 'code' : ''} onInput={(event) => onChange(event.currentTarget.value)} />;
}
