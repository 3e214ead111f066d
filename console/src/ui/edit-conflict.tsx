/** The merge of an edit whose fields are shown as they are stored, or formatted. */

import type { Answer } from '../api/client';
import type { Changes, EditConflict } from '../api/edits';
import { MergeDialog } from './merge-dialog';
import type { Fields } from './merge';

/** What is told to users who kept all of somebody else's change. */
export const KEPT_TEXT = 'The other change was kept.';

/** How fields are shown, by their names. */
export type Formats = Record<string, (value: never) => string>;

interface EditConflictDialogProps<T> {
  /** What the record is called. */
  subject: string;
  base: Answer<T>;
  edit: { conflict: EditConflict<T> | null; isPending: boolean; error?: Error | null; apply: (changes: Changes<T>) => void };
  /** Names of fields for people. */
  labels: Record<string, string>;
  /** How fields that are not text are shown. Different values have different texts. */
  formats?: Formats;
  onClose: () => void;
}

/** Show the merge dialog of an edit after a conflict. */
export function EditConflictDialog<T extends object>(props: EditConflictDialogProps<T>) {
  const { subject, base, edit, labels, formats = {}, onClose } = props;
  if (!edit.conflict) return null;
  const { yours, theirs } = edit.conflict;
  const names = Object.keys(yours) as (keyof T & string)[];
  const toFields = (record: Changes<T>): Fields =>
    Object.fromEntries(names.map((name) => [name, formatField(formats[name], record[name])]));
  const apply = (merged: Fields) =>
    edit.apply(Object.fromEntries(Object.keys(merged).map((name) => [name, yours[name as keyof T]])) as Changes<T>);
  return (
    <MergeDialog
      // The choices end with the conflict: another change of theirs is decided anew.
      key={theirs.etag}
      subject={subject}
      base={toFields(base.data)}
      yours={toFields(yours)}
      theirs={toFields(theirs.data)}
      labels={labels}
      isPending={edit.isPending}
      error={edit.error ?? null}
      onApply={apply}
      onClose={onClose}
    />
  );
}

function formatField(format: Formats[string] | undefined, value: unknown): unknown {
  return format && value !== undefined ? format(value as never) : value;
}
