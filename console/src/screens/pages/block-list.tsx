/** The form of a list of blocks, and of the lists in their columns. */

import type { Block } from '../../api/client';
import { ApiProblem } from '../../api/problems';
import { MoveButtons } from '../../ui/move-buttons';
import { BlockInput } from './block-field';
import { BLOCK_TYPES, createBlock, fieldsOf, moveItem, titleOf } from './blocks';

interface BlockListProps {
  blocks: readonly Block[];
  /** Where the list is in a request (RFC 6901), for problems with it. */
  pointer: string;
  error: unknown;
  onChange: (blocks: Block[]) => void;
}

/** Show the blocks, and a choice of what to add. */
export function BlockList({ blocks, pointer, error, onChange }: BlockListProps) {
  return (
    <div class="stack">
      <ol class="blocks">
        {blocks.map((block, index) => (
          <BlockForm
            key={block.id}
            block={block}
            position={{ index, count: blocks.length }}
            pointer={`${pointer}/${index}`}
            error={error}
            onChange={(changed) => onChange(blocks.map((each) => (each === block ? changed : each)))}
            onMove={(to) => onChange(moveItem(blocks, index, to))}
            onRemove={() => onChange(blocks.filter((each) => each !== block))}
          />
        ))}
      </ol>
      <ExactProblem error={error} pointer={pointer} />
      <AddBlock onAdd={(block) => onChange([...blocks, block])} />
    </div>
  );
}

interface BlockFormProps {
  block: Block;
  position: { index: number; count: number };
  pointer: string;
  error: unknown;
  onChange: (block: Block) => void;
  onMove: (to: number) => void;
  onRemove: () => void;
}

function BlockForm({ block, position, pointer, error, onChange, onMove, onRemove }: BlockFormProps) {
  const { index, count } = position;
  const values = block as unknown as Record<string, unknown>;
  const name = `${titleOf(block)}, block ${index + 1} of ${count}`;
  return (
    <li>
      <fieldset class="block" aria-label={name}>
        <BlockHead block={block} name={name} position={position} onMove={onMove} onRemove={onRemove} />
        {fieldsOf(block).map((field) => (
          <BlockInput
            key={field.name}
            field={field}
            value={values[field.name]}
            pointer={`${pointer}/${field.name}`}
            error={error}
            onChange={(value) => onChange({ ...values, [field.name]: value } as unknown as Block)}
          />
        ))}
        {block.type === 'columns' && <Columns block={block} pointer={`${pointer}/columns`} error={error} onChange={onChange} />}
        {!(block.type in BLOCK_TYPES) && <p class="small muted">The console cannot edit this type. It stays as it is.</p>}
        <ExactProblem error={error} pointer={pointer} />
      </fieldset>
    </li>
  );
}

function BlockHead({ block, name, position, onMove, onRemove }: Omit<BlockFormProps, 'pointer' | 'error' | 'onChange'> & { name: string }) {
  const { index, count } = position;
  const moves = [
    { key: 'up', text: 'Up', isPossible: index > 0, move: () => onMove(index - 1) },
    { key: 'down', text: 'Down', isPossible: index < count - 1, move: () => onMove(index + 1) },
  ];
  return (
    <div class="block-head">
      <strong>{titleOf(block)}</strong>
      <MoveButtons id={block.id} name={name} moves={moves} />
      <button type="button" class="quiet danger" aria-label={`Remove: ${name}`} onClick={onRemove}>
        Remove
      </button>
    </div>
  );
}

interface ColumnsProps {
  block: Extract<Block, { type: 'columns' }>;
  pointer: string;
  error: unknown;
  onChange: (block: Block) => void;
}

function Columns({ block, pointer, error, onChange }: ColumnsProps) {
  const change = (columns: Block[][]) => onChange({ ...block, columns });
  return (
    <>
      {block.columns.map((column, index) => (
        <fieldset key={index} class="column" aria-label={`Column ${index + 1} of ${block.columns.length}`}>
          <div class="block-head">
            <span class="muted">Column {index + 1}</span>
            <button
              type="button"
              class="quiet danger"
              aria-label={`Remove column ${index + 1}`}
              onClick={() => change(block.columns.filter((each) => each !== column))}
            >
              Remove
            </button>
          </div>
          <BlockList
            blocks={column}
            pointer={`${pointer}/${index}`}
            error={error}
            onChange={(changed) => change(block.columns.map((each) => (each === column ? changed : each)))}
          />
        </fieldset>
      ))}
      <div>
        <button type="button" class="quiet" onClick={() => change([...block.columns, []])}>
          Add a column
        </button>
      </div>
    </>
  );
}

function AddBlock({ onAdd }: { onAdd: (block: Block) => void }) {
  return (
    <label class="add-block">
      <span class="hidden-visually">Add a block</span>
      <select
        value=""
        onChange={(event) => {
          onAdd(createBlock(event.currentTarget.value as Block['type']));
          event.currentTarget.value = '';
        }}
      >
        <option value="">Add a block</option>
        {Object.entries(BLOCK_TYPES).map(([type, { title }]) => (
          <option key={type} value={type}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Problems with a block or a list itself, and not with a field of it. */
function ExactProblem({ error, pointer }: { error: unknown; pointer: string }) {
  const found = error instanceof ApiProblem && error.errors.find((each) => each.pointer === pointer);
  return found ? <p class="small problem-text">This {found.detail}.</p> : null;
}
