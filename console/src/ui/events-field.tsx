/** The choice of event types: all, or types and prefixes such as `page.*`. */

import { useState } from 'preact/hooks';
import { ApiProblem } from '../api/problems';
import { useEventTypeNames } from './event-types';
import { FieldNotes } from './field-notes';
import { ChoiceField, useField, type Values } from './form';
import type { Fields } from './merge';

/** The value of the field that stands for all event types. */
export const ALL_EVENTS = '*';

/** Return the patterns of a form for the API. */
export function toEventPatterns({ events = '' }: Values): string[] {
  const lines = events.split('\n').map((line) => line.trim());
  return [...new Set(lines.filter(Boolean))];
}

/** Return changed fields of an edit for the API: the patterns are lines in the form, and a list there. */
export function withEventPatterns({ events, ...others }: Fields): Fields {
  return events === undefined ? others : { ...others, events: toEventPatterns({ events: String(events ?? '') }) };
}

/** How the state of what receives events is shown after a conflict. */
export const STATE_FORMATS = { enabled: (value: boolean) => (value ? 'On' : 'Paused') };

/** The field `enabled` of a form. `hint`: what becomes of events meanwhile. */
export function StateField({ hint }: { hint: string }) {
  const choices = [
    { value: 'true', label: 'On' },
    { value: 'false', label: 'Paused', hint },
  ];
  return <ChoiceField name="enabled" label="Status" choices={choices} />;
}

/** The field `events` of a form: patterns, one in each line of its value. */
export function EventsField() {
  const { value, setValue } = useField('events', false);
  const isAll = value === ALL_EVENTS;
  return (
    <fieldset class="field">
      <legend>Events</legend>
      <div class="choices">
        <label class="choice">
          <input type="radio" name="scope" checked={isAll} onChange={() => setValue(ALL_EVENTS)} />
          <span>
            <strong>All events</strong>
            <span class="hint">Also those of types that are added later.</span>
          </span>
        </label>
        <label class="choice">
          <input type="radio" name="scope" checked={!isAll} onChange={() => setValue('')} />
          <span>
            <strong>Selected events</strong>
            <span class="hint">By type, such as page.published, or by prefix, such as page.*</span>
          </span>
        </label>
      </div>
      {!isAll && <Patterns />}
    </fieldset>
  );
}

function Patterns() {
  const { value, setValue, attributes, problemId, error } = useField('events', false);
  const [text, setText] = useState('');
  const patterns = toEventPatterns({ events: value });
  // What is being typed counts, too, so that it is not lost when the form is submitted.
  const added = text.trim() ? patterns.filter((each) => each !== text.trim()) : patterns;
  const type = (typed: string) => {
    setText(typed);
    setValue([...added, typed].join('\n'));
  };
  const addOnEnter = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !text.trim()) return;
    event.preventDefault();
    setText('');
  };
  const problem = describeProblem(error, patterns);
  return (
    <>
      <Tokens tokens={added} onRemove={(pattern) => setValue(patterns.filter((each) => each !== pattern).join('\n'))} />
      <div class="token-input">
        <input
          {...attributes}
          aria-label="Event type or prefix"
          placeholder="page.published"
          list="event-patterns"
          value={text}
          autoComplete="off"
          onInput={(event) => type(event.currentTarget.value)}
          onKeyDown={addOnEnter}
        />
        <button type="button" class="button" onClick={() => setText('')}>
          Add
        </button>
      </div>
      <Suggestions />
      <FieldNotes problem={problem} problemId={problemId} />
    </>
  );
}

interface TokensProps {
  tokens: readonly string[];
  onRemove: (token: string) => void;
}

function Tokens({ tokens, onRemove }: TokensProps) {
  if (tokens.length === 0) return null;
  return (
    <ul class="tokens">
      {tokens.map((token) => (
        <li key={token}>
          <code>{token}</code>
          <button type="button" aria-label={`Remove ${token}`} onClick={() => onRemove(token)}>
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}

function Suggestions() {
  const names = useEventTypeNames();
  const prefixes = names.flatMap((name) => [...name.matchAll(/\./g)].map(({ index }) => `${name.slice(0, index)}.*`));
  return (
    <datalist id="event-patterns">
      {[...new Set(prefixes), ...names].map((each) => (
        <option key={each} value={each} />
      ))}
    </datalist>
  );
}

/** Return the problems of the answer, each with the pattern to which its pointer leads. */
function describeProblem(error: unknown, patterns: readonly string[]): string | null {
  if (!(error instanceof ApiProblem)) return null;
  const found = error.errors.filter((each) => /^\/events(\/|$)/.test(each.pointer));
  const texts = found.map(({ pointer, detail }) => `${patterns[Number(pointer.split('/')[2])] ?? 'The list'} ${detail}.`);
  return texts.join(' ') || null;
}
