/** Fields of records as the values of forms, which are text: other values than text are JSON. */

import type { Values } from './form';
import type { Fields } from './merge';

/** Return the values of a form for these fields. */
export function toValues(fields: Fields): Values {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, toText(field)]));
}

function toText(field: unknown): string {
  if (field === null || field === undefined) return '';
  if (typeof field === 'string') return field;
  return typeof field === 'object' ? JSON.stringify(field, null, 2) : String(field);
}

/** Return the fields of which the form has another value than the record. Those that are not JSON yet are omitted. */
export function changedFieldsOfForm(values: Values, original: Fields): Fields {
  const entries = Object.keys(original)
    .filter((name) => isComplete(values[name] ?? '', original[name]))
    .map((name) => [name, toField(values[name] ?? '', original[name])] as const);
  const isChanged = (name: string, field: unknown) => JSON.stringify(field) !== JSON.stringify(toField(toText(original[name]), original[name]));
  return Object.fromEntries(entries.filter(([name, field]) => isChanged(name, field)));
}

/** Return whether all values can be read, so that the form can be saved. */
export function areComplete(values: Values, original: Fields): boolean {
  return Object.keys(original).every((name) => isComplete(values[name] ?? '', original[name]));
}

/** Return the object that a text contains as JSON, or null if it contains none. */
export function parseObjectOrNull(text: string | undefined): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function isComplete(text: string, original: unknown): boolean {
  if (typeof original === 'number') return Number.isFinite(Number(text));
  if (Array.isArray(original)) return isArray(text);
  return typeof original !== 'object' || original === null || parseObjectOrNull(text) !== null;
}

function isArray(text: string): boolean {
  try {
    return Array.isArray(JSON.parse(text));
  } catch {
    return false;
  }
}

function toField(text: string, original: unknown): unknown {
  if (typeof original === 'boolean') return text === 'true';
  if (typeof original === 'number') return text.trim() === '' ? null : Number(text);
  if (text === '') return null;
  return typeof original === 'string' || original === null || original === undefined ? text : JSON.parse(text);
}

/** Return the JSON Merge Patch (RFC 7396) that turns one object into another. */
export function toMergePatch(from: unknown, to: unknown): unknown {
  if (!isObject(from) || !isObject(to)) return to;
  const names = new Set([...Object.keys(from), ...Object.keys(to)]);
  const changed = [...names].filter((name) => JSON.stringify(from[name]) !== JSON.stringify(to[name]));
  return Object.fromEntries(changed.map((name) => [name, name in to ? toMergePatch(from[name], to[name]) : null]));
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Return the JSON object that text contains. Text that is not JSON yet counts as an empty object. */
export function parseJsonObject(text: string | undefined): Record<string, never> {
  return (parseObjectOrNull(text) ?? {}) as Record<string, never>;
}
