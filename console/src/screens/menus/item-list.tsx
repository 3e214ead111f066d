/** The form of the items of a menu, and how they are shown to people who cannot change them. */

import type { MenuItem, PageSummary } from '../../api/client';
import { fieldProblemOrNull } from '../../api/problems';
import { MoveButtons } from '../../ui/move-buttons';
import { Empty } from '../../ui/states';
import { TreeItem, TreeLevel } from '../../ui/tree';
import { WebLink } from '../../ui/web-link';
import { canMove, changeLevel, createItem, moveMenuItem, removeItem, type Move, type Path } from './menu-items';

interface ItemListProps {
  items: readonly MenuItem[];
  /** The pages to choose from. */
  pages: readonly PageSummary[];
  error: unknown;
  onChange: (items: MenuItem[]) => void;
}

/** Show the items with what moves them. */
export function ItemList(props: ItemListProps) {
  const { items, onChange } = props;
  return (
    <div class="stack">
      {items.length > 0 && <Level {...props} path={[]} level={items} />}
      <div>
        <button type="button" class="button" onClick={() => onChange([...items, createItem()])}>
          Add an item
        </button>
      </div>
    </div>
  );
}

function Level({ path, level, ...props }: ItemListProps & { path: Path; level: readonly MenuItem[] }) {
  return (
    <ul class="blocks" aria-label={path.length ? 'Items below' : 'Items'}>
      {level.map((item, index) => (
        <li key={item.id}>
          <ItemForm {...props} item={item} path={[...path, index]} />
          {item.children.length > 0 && (
            <div class="below">
              <Level {...props} path={[...path, index]} level={item.children} />
            </div>
          )}
        </li>
      ))}
    </ul>
  );
}

const MOVES: readonly { move: Move; text: string }[] = [
  { move: 'up', text: 'Up' },
  { move: 'down', text: 'Down' },
  { move: 'in', text: 'In' },
  { move: 'out', text: 'Out' },
];
const TYPES = { page: 'Page', url: 'Address', group: 'Group of others' };

function ItemForm({ items, pages, error, onChange, item, path }: ItemListProps & { item: MenuItem; path: Path }) {
  const pointer = `/items/${path.join('/children/')}`;
  const name = item.label || 'item without label';
  const problem = fieldProblemOrNull(error, pointer);
  const change = (fields: Partial<MenuItem>) =>
    onChange(changeLevel(items, path.slice(0, -1), (level) => level.map((each) => (each.id === item.id ? { ...each, ...fields } : each))));
  const moves = MOVES.map(({ move, text }) => ({
    key: move,
    text,
    isPossible: canMove(items, path, move),
    move: () => onChange(moveMenuItem(items, path, move)),
  }));
  return (
    <fieldset class="block menu-item" aria-label={name} aria-describedby={problem ? `${item.id}-problem` : undefined}>
      <ItemFields item={item} pages={pages} isInvalid={problem !== null} onChange={change} />
      {problem && (
        <p class="small problem-text" id={`${item.id}-problem`}>
          {problem}
        </p>
      )}
      <div class="buttons">
        <MoveButtons id={item.id} name={name} moves={moves} />
        <button type="button" class="quiet danger" aria-label={`Remove: ${name}`} onClick={() => onChange(removeItem(items, path))}>
          Remove
        </button>
      </div>
    </fieldset>
  );
}

function ItemFields({ item, pages, isInvalid, onChange }: TargetProps & { isInvalid: boolean }) {
  return (
    <div class="menu-fields">
      <label class="field">
        <span class="small muted">Label</span>
        <input
          value={item.label}
          autoComplete="off"
          aria-invalid={isInvalid ? true : undefined}
          onInput={(event) => onChange({ label: event.currentTarget.value })}
        />
      </label>
      <label class="field">
        <span class="small muted">Leads to</span>
        <select value={item.type} onChange={(event) => onChange(fieldsOfType(event.currentTarget.value as MenuItem['type'], item))}>
          {Object.entries(TYPES).map(([type, title]) => (
            <option key={type} value={type}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <Target item={item} pages={pages} onChange={onChange} />
    </div>
  );
}

function fieldsOfType(type: MenuItem['type'], item: MenuItem): Partial<MenuItem> {
  return { type, pageId: type === 'page' ? item.pageId : null, url: type === 'url' ? (item.url ?? '') : null };
}

interface TargetProps {
  item: MenuItem;
  pages: readonly PageSummary[];
  onChange: (fields: Partial<MenuItem>) => void;
}

function Target({ item, pages, onChange }: TargetProps) {
  if (item.type === 'group') return null;
  if (item.type === 'url') {
    return (
      <label class="field">
        <span class="small muted">Address</span>
        <input value={item.url ?? ''} autoComplete="off" onInput={(event) => onChange({ url: event.currentTarget.value })} />
      </label>
    );
  }
  const isListed = pages.some((page) => page.id === item.pageId);
  return (
    <label class="field">
      <span class="small muted">Page</span>
      <select value={item.pageId ?? ''} onChange={(event) => onChange({ pageId: event.currentTarget.value || null, dangling: false })}>
        {item.pageId === null && <option value="">Choose a page</option>}
        {item.pageId !== null && !isListed && (
          <option value={item.pageId}>{item.dangling ? 'A page that was deleted' : (item.path ?? item.pageId)}</option>
        )}
        {pages.map((page) => (
          <option key={page.id} value={page.id}>
            {page.title} ({page.path})
          </option>
        ))}
      </select>
    </label>
  );
}

/** Show items without a way to change them. */
export function ReadOnlyItems({ items }: { items: readonly MenuItem[] }) {
  if (items.length === 0) return <Empty title="No items yet">Editors add links to pages and addresses.</Empty>;
  return (
    <TreeLevel label="Items">
      {items.map((item) => (
        <TreeItem key={item.id} name={item.label} isOpen={item.children.length > 0} row={<ItemRow item={item} />}>
          <ReadOnlyItems items={item.children} />
        </TreeItem>
      ))}
    </TreeLevel>
  );
}

function ItemRow({ item }: { item: MenuItem }) {
  const target = item.type === 'page' ? (item.dangling ? 'Deleted page' : (item.path ?? 'Page not published')) : 'Group';
  return (
    <span class="tree-name">
      <strong>{item.label}</strong>
      <span class="small muted">{item.url ? <WebLink href={item.url} /> : target}</span>
    </span>
  );
}
