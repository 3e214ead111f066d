/** What changed between two revisions: blocks, and words within their texts. Without interface. */

// The main module of the package also contains the comparisons of lines, sentences and JSON.
import { diffArrays } from 'diff/lib/diff/array.js';
import { diffWordsWithSpace } from 'diff/lib/diff/word.js';
import type { Block, Revision } from '../../api/client';
import { fieldsOf, formatValue } from './blocks';

/** A part of a text. */
export interface Part {
  kind: 'same' | 'added' | 'removed';
  text: string;
}

/** A field whose text changed. */
export interface FieldChange {
  label: string;
  parts: Part[];
}

/** A block in the newer revision, or one that is only in the older. A column of a columns block counts as a block. */
export interface BlockChange {
  block: Block;
  /** The number of the column if this is a column, and not a block. */
  column: number | null;
  depth: number;
  kind: 'same' | 'changed' | 'added' | 'removed' | 'moved';
  /** Changes of fields. A block can be moved and changed. */
  fields: FieldChange[];
}

interface FlatBlock {
  key: string;
  block: Block;
  column: number | null;
  depth: number;
}

function flatten(blocks: readonly Block[], depth = 0): FlatBlock[] {
  return blocks.flatMap((block) => [
    { key: block.id, block, column: null, depth },
    ...(block.type === 'columns' ? block.columns : []).flatMap((column, index) => [
      // A slash is no part of an id, so the key is unique.
      { key: `${block.id}/${index}`, block, column: index + 1, depth: depth + 1 },
      ...flatten(column, depth + 2),
    ]),
  ]);
}

/** Return the blocks of both revisions in the order of the newer one, with what happened to each. */
export function compareBlocks(older: readonly Block[], newer: readonly Block[]): BlockChange[] {
  const before = new Map(flatten(older).map((each) => [each.key, each]));
  const after = new Map(flatten(newer).map((each) => [each.key, each]));
  return diffArrays([...before.keys()], [...after.keys()]).flatMap(({ value, added, removed }) =>
    value.flatMap((key): BlockChange[] => {
      const [old, current] = [before.get(key), after.get(key)];
      if (removed) return old && !current ? [{ ...old, kind: 'removed', fields: [] }] : [];
      if (!current) return [];
      const fields = old && current.column === null ? compareFields(old.block, current.block) : [];
      const kind = !old ? 'added' : added ? 'moved' : fields.length ? 'changed' : 'same';
      return [{ ...current, kind, fields }];
    }),
  );
}

function compareFields(older: Block, newer: Block): FieldChange[] {
  const values = (block: Block) => block as unknown as Record<string, unknown>;
  const known = new Map([...fieldsOf(older), ...fieldsOf(newer)].map(({ name, label }) => [name, label]));
  known.set('type', 'Type');
  return [...known].flatMap(([name, label]) => compareTexts(label, values(older)[name], values(newer)[name]));
}

/** Return the change of a text as a list with one item, or no item if it is the same. */
function compareTexts(label: string, older: unknown, newer: unknown): FieldChange[] {
  const [before, after] = [formatValue(older), formatValue(newer)];
  if (before === after) return [];
  const parts = diffWordsWithSpace(before, after).map(({ value, added, removed }): Part => ({
    kind: added ? 'added' : removed ? 'removed' : 'same',
    text: value,
  }));
  return [{ label, parts }];
}

/** Return the changes of everything but the blocks. */
export function compareSettings(older: Revision, newer: Revision): FieldChange[] {
  return [
    ...compareTexts('Title', older.title, newer.title),
    ...compareTexts('Slug', older.slug, newer.slug),
    ...compareTexts('Below', older.parentId, newer.parentId),
    ...compareTexts('Search engines: title', older.seo.title, newer.seo.title),
    ...compareTexts('Search engines: description', older.seo.description, newer.seo.description),
    ...compareTexts('Search engines: canonical URL', older.seo.canonical, newer.seo.canonical),
    ...compareTexts('Search engines: image', older.seo.image, newer.seo.image),
    ...compareTexts('Search engines: ignore the page', older.seo.noindex, newer.seo.noindex),
  ];
}
