/** Merges an edit with a change that somebody else made to the same record in the meantime. */

export type Fields = Record<string, unknown>;

/** A field that both changed, to different values. */
export interface Conflict {
  name: string;
  base: unknown;
  yours: unknown;
  theirs: unknown;
}

/** Return the fields that both changed to different values, of those that were edited. */
export function findConflicts(base: Fields, yours: Fields, theirs: Fields): Conflict[] {
  return Object.keys(yours)
    .map((name) => ({ name, base: base[name], yours: yours[name], theirs: theirs[name] }))
    .filter((each) => !isEqual(each.yours, each.base) && !isEqual(each.theirs, each.base) && !isEqual(each.yours, each.theirs));
}

/** Return the changes to send: the edit, without fields for which `theirs` was chosen and fields that are the same. */
export function mergeChanges(yours: Fields, theirs: Fields, base: Fields, keepTheirs: ReadonlySet<string>): Fields {
  const changed = Object.entries(yours).filter(
    ([name, value]) => !keepTheirs.has(name) && !isEqual(value, theirs[name]) && !isEqual(value, base[name]),
  );
  return Object.fromEntries(changed);
}

/** Return the fields of an edit that differ from the record. */
export function changedFields<T extends object>(edited: T, base: object): Partial<T> {
  return mergeChanges(edited as Fields, base as Fields, base as Fields, new Set()) as Partial<T>;
}

function isEqual(first: unknown, second: unknown): boolean {
  return JSON.stringify(first) === JSON.stringify(second);
}
