/** Forms: fields with the problems of the answer beside them, and the focus on the first problem. */

import { createContext, type ComponentChildren } from 'preact';
import { useContext, useEffect, useId, useRef, useState } from 'preact/hooks';
import { registerForm, takeDraftOrNull } from '../api/drafts';
import { ApiProblem, fieldProblemOrNull } from '../api/problems';
import { FieldNotes } from './field-notes';
import { Problem } from './states';

/** The values of a form, by the names of its fields. */
export type Values = Record<string, string>;

interface FormState {
  values: Values;
  setValue: (name: string, value: string) => void;
  error: unknown;
}

const FormContext = createContext<FormState | null>(null);

interface FormProps {
  /** Identifies the form, so that its values survive signing in again. */
  name: string;
  initial: Values;
  /** The error of the last attempt. Its problems appear at the fields to which their pointers lead. */
  error: unknown;
  onSubmit: (values: Values) => void;
  children: (values: Values) => ComponentChildren;
}

const FIRST_CONTROL = 'input:not([type="radio"]:not(:checked)), select, textarea';

/** A form. */
export function Form({ name, initial, error, onSubmit, children }: FormProps) {
  const element = useRef<HTMLFormElement>(null);
  const [values, setValues] = useState<Values>(() => ({ ...initial, ...takeDraftOrNull(name) }));
  const current = useRef(values);
  current.current = values;
  useEffect(() => registerForm(name, () => current.current), [name]);
  useEffect(() => element.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(), [error]);
  // A dialog that opened before its record was read has the focus itself.
  useEffect(() => {
    if (document.activeElement === element.current?.closest('dialog')) element.current?.querySelector<HTMLElement>(FIRST_CONTROL)?.focus();
  }, []);
  const setValue = (field: string, value: string) => setValues((old) => ({ ...old, [field]: value }));
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const missing = [...(element.current?.querySelectorAll<HTMLInputElement>(':invalid') ?? [])].find((each) => each.validity?.valueMissing);
    // The service would call an emptied text null. Other problems are left to it, and appear at their fields.
    if (missing) missing.reportValidity();
    else onSubmit(current.current);
  };
  // Problems with headers, such as failed preconditions, concern the whole form.
  const isShownAtFields = error instanceof ApiProblem && error.errors.some(({ pointer }) => !pointer.startsWith('header/'));
  return (
    <FormContext.Provider value={{ values, setValue, error }}>
      <form ref={element} class="stack" noValidate onSubmit={submit}>
        {error != null && !isShownAtFields && <Problem error={error} />}
        {isShownAtFields && <UnplacedProblems error={error} names={Object.keys(values)} />}
        {children(values)}
      </form>
    </FormContext.Provider>
  );
}

/** Problems whose pointers lead to no field of the form. */
function UnplacedProblems({ error, names }: { error: ApiProblem; names: string[] }) {
  const others = error.errors.filter(({ pointer }) => !names.some((name) => `${pointer}/`.startsWith(`/${name}/`)));
  if (others.length === 0) return null;
  return (
    <ul class="notice bad" role="alert">
      {others.map((field) => (
        <li key={field.pointer}>
          <code>{field.pointer}</code> {field.detail}
        </li>
      ))}
    </ul>
  );
}

interface FieldProps {
  name: string;
  label: string;
  hint?: ComponentChildren;
  type?: 'text' | 'email' | 'number' | 'url' | 'date' | 'datetime-local' | 'textarea';
  required?: boolean;
  autoComplete?: string;
}

/** A field of text. */
export function Field({ name, label, hint, type = 'text', required = false, ...others }: FieldProps) {
  const { value, setValue, problem, attributes, hintId, problemId } = useField(name, hint !== undefined);
  const shared = { ...attributes, name, value, required, ...others };
  return (
    <div class="field">
      <label htmlFor={attributes.id}>
        {label}
        {!required && <span class="muted"> (optional)</span>}
      </label>
      {type === 'textarea' ? (
        <textarea {...shared} onInput={(event) => setValue(event.currentTarget.value)} />
      ) : (
        <input {...shared} type={type} onInput={(event) => setValue(event.currentTarget.value)} />
      )}
      <FieldNotes hint={hint} hintId={hintId} problem={problem} problemId={problemId} />
    </div>
  );
}

export interface Choice {
  value: string;
  label: string;
  hint?: string;
  disabled?: boolean;
}

/** A field with a few choices, all visible. */
export function ChoiceField({ name, label, choices }: { name: string; label: string; choices: readonly Choice[] }) {
  const { value, setValue, problem, attributes, problemId } = useField(name, false);
  return (
    <fieldset class="field" aria-describedby={problem ? problemId : undefined}>
      <legend>{label}</legend>
      <div class="choices">
        {choices.map((choice, index) => (
          <label key={choice.value} class="choice">
            <input
              type="radio"
              name={name}
              value={choice.value}
              checked={choice.value === value}
              disabled={choice.disabled}
              aria-invalid={index === 0 ? attributes['aria-invalid'] : undefined}
              onChange={() => setValue(choice.value)}
            />
            <span>
              <strong>{choice.label}</strong>
              {choice.hint && <span class="hint">{choice.hint}</span>}
            </span>
          </label>
        ))}
      </div>
      <FieldNotes problem={problem} problemId={problemId} />
    </fieldset>
  );
}

/** Return the state of a field, and the attributes of its control. `hasHint`: whether the control has a hint. */
export function useField(name: string, hasHint: boolean) {
  const form = useContext(FormContext);
  if (!form) throw new Error(`The field ${name} is outside of a form.`);
  const id = useId();
  const hintId = `${id}-hint`;
  const problemId = `${id}-problem`;
  const problem = fieldProblemOrNull(form.error, `/${name}`);
  const describedBy = [hasHint && hintId, problem && problemId].filter(Boolean).join(' ');
  return {
    value: form.values[name] ?? '',
    error: form.error,
    setValue: (value: string) => form.setValue(name, value),
    problem,
    hintId,
    problemId,
    attributes: { id, 'aria-invalid': problem ? true : undefined, 'aria-describedby': describedBy || undefined },
  };
}
