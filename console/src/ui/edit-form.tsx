/** Forms that edit a record, in a dialog or as a whole screen. A conflict opens the merge above the form. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Answer, ChangeOptions, Client, ReadOptions } from '../api/client';
import { useEdit, useEditBase, type Changes, type EditConflict, type Readable } from '../api/edits';
import type { QueryKey } from '../api/queries';
import { Dialog, DialogFooter } from './dialog';
import { EditConflictDialog, KEPT_TEXT, type Formats } from './edit-conflict';
import { areComplete, changedFieldsOfForm, toValues } from './field-values';
import { Form, type Values } from './form';
import type { Fields } from './merge';
import { Failed, Loading } from './states';
import { RecordView } from './table';
import { showToast } from './toast';

type Text<T> = string | ((record: T) => string);

interface EditProps<T> {
  /** The key of the query of the record. With the names of the fields, it also identifies the form. */
  recordKey: QueryKey;
  read: (client: Client, options?: ReadOptions) => Readable<T>;
  /** Return the fields that the form edits. Those that are not text have JSON as the value in the form. */
  toFields: (record: T) => Fields;
  /** Save changed fields of a record, which is as it was read last. */
  save: (client: Client, changes: Fields, options: ChangeOptions, record: T) => PromiseLike<unknown>;
  /** Keys of the queries whose data the edit changes. */
  changes: QueryKey[];
  /** What the record is called. */
  subject: Text<T>;
  savedText: Text<T>;
  /** Names of fields for people, if they differ from those of the API. */
  labels?: Record<string, string>;
  /** How fields are shown after a conflict, if not as they are. */
  formats?: Formats;
  submitLabel?: string;
  children: (values: Values, record: T) => ComponentChildren;
}

interface EditFormProps<T> extends EditProps<T> {
  base: Answer<T>;
  onSaved: () => void;
  onCancel: () => void;
  cancelLabel?: string;
}

/** The form of an edit. */
function EditForm<T extends object>(props: EditFormProps<T>) {
  const { recordKey, base, read, save, toFields, subject, savedText, labels = {}, formats = {} } = props;
  const original = toFields(base.data);
  const edit = useEdit<T>({
    base,
    read,
    save: (client, changed, options): PromiseLike<unknown> =>
      save(client, changed as Fields, options, edit.conflict?.theirs.data ?? base.data),
    changes: props.changes,
    onSaved: (isChanged) => {
      showToast(isChanged ? textOf(savedText, base.data) : KEPT_TEXT);
      props.onSaved();
    },
  });
  return (
    <>
      <Form
        name={[...recordKey, ...Object.keys(original)].join('-')}
        initial={toValues(original)}
        error={edit.error}
        onSubmit={(values) => edit.submit(changedFieldsOfForm(values, original) as Changes<T>)}
      >
        {(values) => (
          <>
            {props.children(values, base.data)}
            <EditFooter {...props} values={values} original={original} isPending={edit.isPending} />
          </>
        )}
      </Form>
      <EditConflictDialog<Fields>
        subject={textOf(subject, base.data)}
        base={{ ...base, data: original }}
        edit={{ ...edit, apply: (merged) => edit.apply(merged as Changes<T>), conflict: edit.conflict && toConflict(edit.conflict, toFields) }}
        labels={labels}
        formats={formats}
        onClose={edit.dismiss}
      />
    </>
  );
}

/** Return a conflict of records as one of the fields that the form edits. */
function toConflict<T>({ yours, theirs }: EditConflict<T>, toFields: (record: T) => Fields): EditConflict<Fields> {
  return { yours: yours as Fields, theirs: { ...theirs, data: toFields(theirs.data) } };
}

function textOf<T>(text: Text<T>, record: T): string {
  return typeof text === 'string' ? text : text(record);
}

interface EditFooterProps<T> extends EditFormProps<T> {
  values: Values;
  original: Fields;
  isPending: boolean;
}

function EditFooter<T>(props: EditFooterProps<T>) {
  const { values, original, base, save, isPending, onCancel, submitLabel = 'Save changes', cancelLabel } = props;
  const changed = changedFieldsOfForm(values, original);
  return (
    <DialogFooter
      submitLabel={submitLabel}
      onCancel={onCancel}
      {...(cancelLabel ? { cancelLabel } : {})}
      isPending={isPending}
      isDisabled={Object.keys(changed).length === 0 || !areComplete(values, original)}
      call={(client) => save(client, changed, { ifMatch: base.etag }, base.data)}
    />
  );
}

interface EditDialogProps<T> extends EditProps<T> {
  /** The title. The record is null until it is read. */
  title: string | ((record: T | null) => string);
  isWide?: boolean;
  onClose: () => void;
}

/** Edit a record in a dialog. The record is read first, so that other changes in the meantime are noticed. */
export function EditDialog<T extends object>({ title, isWide = false, onClose, ...props }: EditDialogProps<T>) {
  const base = useEditBase(props.recordKey, props.read);
  return (
    <Dialog title={textOf(title, base.data?.data ?? null)} onClose={onClose} isWide={isWide}>
      {base.data && <EditForm {...props} base={base.data} onSaved={onClose} onCancel={onClose} />}
      {base.isPending && <Loading lines={3} />}
      {base.error && !base.data && <Failed error={base.error} onRetry={() => base.refetch()} />}
    </Dialog>
  );
}

interface EditPageProps<T> extends EditProps<T> {
  /** False if the role of the user is not enough. The fields are then shown, but cannot be changed. */
  canEdit: boolean;
}

/** Edit a record on a screen of its own. */
export function EditPage<T extends object>({ canEdit, ...props }: EditPageProps<T>) {
  const base = useEditBase(props.recordKey, props.read);
  const [attempt, setAttempt] = useState(0);
  const discard = () => setAttempt(attempt + 1);
  return (
    <RecordView query={base}>
      {(record) =>
        canEdit && base.data ? (
          <div class="edit-page">
            <EditForm
              {...props}
              key={`${base.data.etag} ${attempt}`}
              base={base.data}
              changes={[...props.changes, ['edited', ...props.recordKey]]}
              onSaved={() => undefined}
              onCancel={discard}
              cancelLabel="Discard"
            />
          </div>
        ) : (
          <Form name="read-only" initial={toValues(props.toFields(record))} error={null} onSubmit={() => undefined}>
            {(values) => (
              <fieldset class="stack" disabled>
                {props.children(values, record)}
              </fieldset>
            )}
          </Form>
        )
      }
    </RecordView>
  );
}
