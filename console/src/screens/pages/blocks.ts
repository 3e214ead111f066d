/** The types of blocks with their fields, and changes to lists of blocks. */

import type { Block } from '../../api/client';

/** `lines` is a list with a text on each line, and `json` an object. */
export type FieldKind = 'line' | 'text' | 'lines' | 'level' | 'check' | 'json';

export interface BlockField {
  name: string;
  label: string;
  kind: FieldKind;
  isOptional?: boolean;
  /** Whether an empty text is stored as null. */
  emptyIsNull?: boolean;
}

type BlockOf<T extends Block['type']> = Extract<Block, { type: T }>;

interface BlockType<B> {
  title: string;
  fields: readonly (BlockField & { name: keyof B & string })[];
  /** The fields of a new block. */
  initial: Omit<B, 'id' | 'type'>;
}

const TEXT = { name: 'text', label: 'Text', kind: 'line' } as const;
const URL_FIELD = { name: 'url', label: 'Address', kind: 'line' } as const;

/** The types that a page can consist of. A type that the API adds is missing here until the types are checked. */
export const BLOCK_TYPES: { readonly [T in Block['type']]: BlockType<BlockOf<T>> } = {
  heading: { title: 'Heading', fields: [TEXT, { name: 'level', label: 'Level', kind: 'level' }], initial: { text: '', level: 2 } },
  text: { title: 'Text', fields: [{ name: 'text', label: 'Markdown', kind: 'text' }], initial: { text: '' } },
  list: {
    title: 'List',
    fields: [
      { name: 'items', label: 'Items, one a line', kind: 'lines' },
      { name: 'ordered', label: 'Numbered', kind: 'check' },
    ],
    initial: { items: [], ordered: false },
  },
  quote: {
    title: 'Quote',
    fields: [TEXT, { name: 'cite', label: 'Source', kind: 'line', isOptional: true, emptyIsNull: true }],
    initial: { text: '', cite: null },
  },
  code: {
    title: 'Code',
    fields: [
      { name: 'text', label: 'Code', kind: 'text' },
      { name: 'language', label: 'Language', kind: 'line', isOptional: true, emptyIsNull: true },
    ],
    initial: { text: '', language: null },
  },
  image: {
    title: 'Image',
    fields: [URL_FIELD, { name: 'alt', label: 'Text for people who do not see it', kind: 'line', isOptional: true }],
    initial: { url: '', alt: '' },
  },
  embed: { title: 'Embed', fields: [URL_FIELD], initial: { url: '' } },
  button: { title: 'Button', fields: [{ name: 'label', label: 'Label', kind: 'line' }, URL_FIELD], initial: { label: '', url: '' } },
  divider: { title: 'Divider', fields: [], initial: {} },
  columns: { title: 'Columns', fields: [], initial: { columns: [[], []] } },
  custom: { title: 'Custom data', fields: [{ name: 'data', label: 'JSON', kind: 'json' }], initial: { data: {} } },
};

/** Create an empty block with an id of its own. */
export function createBlock(type: Block['type']): Block {
  return { id: crypto.randomUUID(), type, ...BLOCK_TYPES[type].initial } as Block;
}

/** Return the name of a block's type for people. Types that are newer than the console are named as they are. */
export function titleOf(block: Block): string {
  return (BLOCK_TYPES as Partial<Record<string, BlockType<unknown>>>)[block.type]?.title ?? block.type;
}

/** Return the fields of a block's type. */
export function fieldsOf(block: Block): readonly BlockField[] {
  return (BLOCK_TYPES as Partial<Record<string, { fields: readonly BlockField[] }>>)[block.type]?.fields ?? [];
}

/** Return a list with an item at another place. */
export function moveItem<T>(items: readonly T[], from: number, to: number): T[] {
  const rest = items.filter((_, index) => index !== from);
  return [...rest.slice(0, to), items[from] as T, ...rest.slice(to)];
}

/** Return a value of a field as text. */
export function formatValue(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.join('\n');
  return typeof value === 'object' ? JSON.stringify(value, null, 2) : String(value);
}

/** Return blocks as text, for comparisons. Blocks that differ have different texts. */
export function formatBlocks(blocks: readonly Block[], indent = ''): string {
  return blocks.map((block) => `${indent}${titleOf(block)}: ${formatBlock(block, indent)}`).join('\n');
}

function formatBlock(block: Block, indent: string): string {
  if (block.type === 'columns') return block.columns.map((column) => `\n${formatBlocks(column, `${indent}  `)}`).join(`\n${indent}  –`);
  const { id: _, type: __, ...fields } = block;
  const values = Object.values(fields).map(formatValue);
  return values.filter(Boolean).join(' · ');
}
