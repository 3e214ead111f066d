/** A field with JSON, as text. */

import type { ComponentChildren } from 'preact';
import { ApiProblem } from '../api/problems';
import { parseObjectOrNull } from './field-values';
import { FieldNotes } from './field-notes';
import { useField } from './form';

interface JsonFieldProps {
  name: string;
  label: string;
  hint?: ComponentChildren;
}

/** A field with JSON. Problems of the answer name the place within it. */
export function JsonField({ name, label, hint }: JsonFieldProps) {
  const { value, setValue, error, attributes, hintId, problemId } = useField(name, hint !== undefined);
  const problems = findProblems(error, `/${name}`);
  const syntaxProblem = describeSyntaxProblem(value);
  return (
    <div class="field">
      <label htmlFor={attributes.id}>{label}</label>
      <textarea
        {...attributes}
        {...(syntaxProblem ? { 'aria-invalid': true } : {})}
        class="code json"
        name={name}
        spellcheck={false}
        value={value}
        onInput={(event) => setValue(event.currentTarget.value)}
      />
      <FieldNotes hint={hint} hintId={hintId} problem={syntaxProblem} />
      {problems.length > 0 && (
        <ul class="problem" id={problemId}>
          {problems.map(({ pointer, detail }) => (
            <li key={pointer + detail}>
              <code>{pointer}</code> {detail}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Return the problems at a place of the request and within it. */
function findProblems(error: unknown, pointer: string) {
  if (!(error instanceof ApiProblem)) return [];
  return error.errors.filter((each) => `${each.pointer}/`.startsWith(`${pointer}/`));
}

function describeSyntaxProblem(text: string): string | null {
  return parseObjectOrNull(text) ? null : 'This is not a JSON object.';
}
