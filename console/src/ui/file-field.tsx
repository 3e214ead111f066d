/** A field for a file, which is read in the browser. */

import { useId } from 'preact/hooks';

interface FileFieldProps {
  label: string;
  /** Extensions of names, such as `.json`. */
  accept: string;
  onChoose: (file: File | null) => void;
}

/** A field for a file. */
export function FileField({ label, accept, onChoose }: FileFieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label htmlFor={id}>{label}</label>
      <input id={id} type="file" accept={accept} onChange={(event) => onChoose(event.currentTarget.files?.[0] ?? null)} />
    </div>
  );
}
