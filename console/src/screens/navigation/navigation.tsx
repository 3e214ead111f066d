/** The navigation of a platform: its menu, at most three levels deep. */

import { operations } from '../../api/access';
import type { NavigationPatch, Platform } from '../../api/client';
import { useList } from '../../api/queries';
import { ItemInput, Items, ItemsField } from '../../ui/items-field';
import { usePlatformId } from '../../ui/place';
import { toWords } from '../../ui/status';
import { PlatformEditPage } from '../platforms/platform-edit-page';

type Item = Platform['navigation']['items'][number];

const MAX_LEVELS = 3;
const TYPES = ['space', 'page', 'module', 'url', 'group'] as const;
const TARGETS: Record<Item['type'], string> = {
  space: 'Slug of the space',
  page: 'Id or path of the page',
  module: 'Id of the module',
  url: 'Address',
  group: 'Target (optional)',
};

/** The screen. */
export default function Navigation() {
  return (
    <>
      <SpaceSlugs />
      <PlatformEditPage
        title="Navigation"
        description="The menu of the platform. Visitors see only the items that they can open."
        noun="navigation"
        rule={operations.update_platform_navigation}
        readOnlyText="You see the items that you can open."
        toFields={({ navigation }) => ({ items: navigation.items })}
        save={(client, changes, options, { id }) => client.platforms.updateNavigation(id, changes as NavigationPatch, options)}
      >
        {(values) => (
          <>
            {values.items === '[]' && <p class="muted">No items yet. The menu is empty until you add one.</p>}
            <ItemsField<Item> name="items" label="Items" noun="item" create={createItem} nameOf={({ label }) => label || 'new item'}>
              {(item, change) => <ItemFields item={item} change={change} level={1} />}
            </ItemsField>
          </>
        )}
      </PlatformEditPage>
    </>
  );
}

/** The slugs of the spaces, offered while a target is typed. */
function SpaceSlugs() {
  const platformId = usePlatformId();
  const spaces = useList(['platforms', platformId, 'spaces'], (client, page, options) => client.platforms.spaces.list(platformId, page, options));
  return (
    <datalist id="space-slugs">
      {spaces.items.map(({ slug, name }) => (
        <option key={slug} value={slug}>
          {name}
        </option>
      ))}
    </datalist>
  );
}

function createItem(): Item {
  return { id: crypto.randomUUID().slice(0, 8), label: '', type: 'space', target: null, children: [] };
}

interface ItemFieldsProps {
  item: Item;
  change: (changed: Partial<Item>) => void;
  level: number;
}

function ItemFields({ item, change, level }: ItemFieldsProps) {
  return (
    <>
      <div class="item-row">
        <ItemInput label="Label" value={item.label} onInput={(label) => change({ label })} />
        <label class="item-field">
          <span>Leads to</span>
          <select value={item.type} onChange={(event) => change({ type: event.currentTarget.value as Item['type'] })}>
            {TYPES.map((type) => (
              <option key={type} value={type}>
                {type === 'url' ? 'Address' : toWords(type)}
              </option>
            ))}
          </select>
        </label>
        <label class="item-field">
          <span>{TARGETS[item.type]}</span>
          <input
            value={item.target ?? ''}
            autoComplete="off"
            {...(item.type === 'space' ? { list: 'space-slugs' } : {})}
            onInput={(event) => change({ target: event.currentTarget.value || null })}
          />
        </label>
      </div>
      {level < MAX_LEVELS && (item.type === 'group' || item.children.length > 0) && (
        <Items noun={`item below ${item.label || 'this'}`} items={item.children} onChange={(children) => change({ children })} create={createItem} nameOf={({ label }) => label || 'new item'}>
          {(child, changeChild) => <ItemFields item={child} change={changeChild} level={level + 1} />}
        </Items>
      )}
    </>
  );
}
