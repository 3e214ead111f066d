/** Ordered items of a form, such as the items of a navigation. They are moved by buttons, which keep the focus. */

import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { parseObjectOrNull } from './field-values';
import { useField } from './form';

interface ItemsProps<T> {
  /** What an item is called, such as “block”. */
  noun: string;
  items: readonly T[];
  onChange: (items: T[]) => void;
  create: () => T;
  /** The name of an item, for the labels of its buttons. */
  nameOf: (item: T) => string;
  children: (item: T, change: (changed: Partial<T>) => void) => ComponentChildren;
}

/** A list of items that can be added, changed, moved and removed. */
export function Items<T>({ noun, items, onChange, create, nameOf, children }: ItemsProps<T>) {
  const list = useRef<HTMLOListElement>(null);
  const focusNext = useRef<string[]>([]);
  useEffect(() => {
    const find = (selector: string) => list.current?.parentElement?.querySelector<HTMLElement>(selector);
    focusNext.current.map(find).find(Boolean)?.focus();
    focusNext.current = [];
  });
  const replace = (index: number, count: number, ...added: T[]) => onChange(items.toSpliced(index, count, ...added));
  const move = (index: number, by: number) => {
    const item = items[index] as T;
    // The button of the other direction gets the focus at the ends, where this one is disabled.
    const button = `:scope > ol > li:nth-child(${index + by + 1}) > .item-actions > button`;
    focusNext.current = [by, -by].map((each) => `${button}[data-by="${each}"]:not(:disabled)`);
    onChange(items.toSpliced(index, 1).toSpliced(index + by, 0, item));
  };
  const remove = (index: number) => {
    focusNext.current = [':scope > .add-item'];
    replace(index, 1);
  };
  return (
    <div class="items">
      <ol ref={list}>
        {items.map((item, index) => (
          <li key={index} class="item">
            <div class="item-fields">{children(item, (changed) => replace(index, 1, { ...item, ...changed }))}</div>
            <ItemActions name={nameOf(item)} index={index} count={items.length} onMove={move} onRemove={remove} />
          </li>
        ))}
      </ol>
      <button type="button" class="button add-item" onClick={() => onChange([...items, create()])}>
        Add {noun}
      </button>
    </div>
  );
}

interface ItemActionsProps {
  name: string;
  index: number;
  count: number;
  onMove: (index: number, by: number) => void;
  onRemove: (index: number) => void;
}

function ItemActions({ name, index, count, onMove, onRemove }: ItemActionsProps) {
  return (
    <div class="item-actions">
      <button type="button" class="quiet" data-by="-1" disabled={index === 0} aria-label={`Move up: ${name}`} onClick={() => onMove(index, -1)}>
        ↑
      </button>
      <button type="button" class="quiet" data-by="1" disabled={index === count - 1} aria-label={`Move down: ${name}`} onClick={() => onMove(index, 1)}>
        ↓
      </button>
      <button type="button" class="quiet danger" aria-label={`Remove: ${name}`} onClick={() => onRemove(index)}>
        Remove
      </button>
    </div>
  );
}

interface ItemsFieldProps<T> extends Omit<ItemsProps<T>, 'items' | 'onChange'> {
  name: string;
  label: string;
}

/** A field with ordered items. Its value is JSON. */
export function ItemsField<T>({ name, label, ...props }: ItemsFieldProps<T>) {
  const { value, setValue, problem, problemId } = useField(name, false);
  return (
    <fieldset class="field" aria-describedby={problem ? problemId : undefined}>
      <legend class="hidden-visually">{label}</legend>
      {problem && (
        <span class="problem" id={problemId} role="alert">
          {problem}
        </span>
      )}
      <Items {...props} items={JSON.parse(value || '[]') as T[]} onChange={(items) => setValue(JSON.stringify(items))} />
    </fieldset>
  );
}

interface ItemInputProps {
  label: string;
  value: string;
  onInput: (value: string) => void;
  isCode?: boolean;
}

/** A text of an item. */
export function ItemInput({ label, value, onInput, isCode = false }: ItemInputProps) {
  return (
    <label class="item-field">
      <span>{label}</span>
      <input class={isCode ? 'code' : ''} value={value} autoComplete="off" onInput={(event) => onInput(event.currentTarget.value)} />
    </label>
  );
}

interface SettingsInputProps {
  /** The settings. Text that is not a JSON object is passed on as it is, and the service rejects it. */
  value: unknown;
  onInput: (value: unknown) => void;
}

/** The settings of an item, as JSON. They are closed until they are needed. */
export function SettingsInput({ value, onInput }: SettingsInputProps) {
  const [text, setText] = useState(typeof value === 'string' ? value : JSON.stringify(value ?? {}, null, 2));
  const problemId = useId();
  const isValid = parseObjectOrNull(text) !== null;
  const change = (next: string) => {
    setText(next);
    onInput(parseObjectOrNull(next) ? JSON.parse(next) : next);
  };
  return (
    <details class="item-settings">
      <summary>Settings</summary>
      <textarea
        class="code"
        aria-label="Settings as JSON"
        value={text}
        spellcheck={false}
        rows={Math.min(12, text.split('\n').length + 1)}
        aria-invalid={isValid ? undefined : true}
        aria-describedby={isValid ? undefined : problemId}
        onInput={(event) => change(event.currentTarget.value)}
      />
      {!isValid && (
        <span class="problem" id={problemId}>
          This must be a JSON object, such as {'{"view": "month"}'}.
        </span>
      )}
    </details>
  );
}
