/** A menu: its name and its nested items. */

import { useParams } from 'wouter-preact';
import { operations } from '../../api/access';
import type { Answer, Client, Menu, MenuItem, MenuPut } from '../../api/client';
import { useEdit, useEditBase } from '../../api/edits';
import { useList } from '../../api/queries';
import { linkTo } from '../../ui/address';
import { CurlButton } from '../../ui/curl-button';
import { EditConflictDialog, KEPT_TEXT } from '../../ui/edit-conflict';
import { Field, Form, useField, type Values } from '../../ui/form';
import { changedFields } from '../../ui/merge';
import { PageHeader } from '../../ui/page';
import { useCan, useSiteId } from '../../ui/place';
import { RoleNotice } from '../../ui/role-notice';
import { Failed, Loading } from '../../ui/states';
import { showToast } from '../../ui/toast';
import { useUnsavedWarning } from '../../ui/unsaved';
import { formatItems } from './menu-items';
import { ItemList, ReadOnlyItems } from './item-list';

/** The screen. */
export default function MenuEditor() {
  const siteId = useSiteId();
  const { menu: menuId = '' } = useParams<{ menu: string }>();
  const base = useEditBase<Menu>(['sites', siteId, 'menus', menuId], (client, options) =>
    client.sites.navigation.get(siteId, menuId, options),
  );
  const canEdit = useCan(operations.put_navigation_menu);
  if (!base.data) return base.error ? <Failed error={base.error} onRetry={() => base.refetch()} /> : <Loading />;
  const menu = base.data.data;
  return (
    <>
      <PageHeader
        title={menu.name}
        description={
          <>
            Menu <code>{menu.id}</code>, up to three levels.
          </>
        }
        actions={
          <a class="button" href={linkTo(`/s/${siteId}/menus`)}>
            All menus
          </a>
        }
      />
      <RoleNotice rule={operations.put_navigation_menu}>You can read this menu.</RoleNotice>
      {canEdit ? <Editor key={menu.version} base={base.data} onSaved={() => void base.refetch()} /> : <ReadOnlyItems items={menu.items} />}
    </>
  );
}

function toBody(fields: { name: string; items: MenuItem[] }): MenuPut {
  // The type of a request ends after three levels, which the form keeps to.
  return fields as MenuPut;
}

function toFields(values: Values): { name: string; items: MenuItem[] } {
  return { name: values.name ?? '', items: JSON.parse(values.items ?? '[]') as MenuItem[] };
}

function useMenuEdit(base: Answer<Menu>, onSaved: () => void) {
  const siteId = useSiteId();
  const { id } = base.data;
  const edit: ReturnType<typeof useEdit<Menu>> = useEdit<Menu>({
    base,
    read: (client) => client.sites.navigation.get(siteId, id),
    save: (client, changes, options) => {
      // The call replaces both fields, so what was not changed is sent as it is stored now.
      const stored = edit.conflict?.theirs.data ?? base.data;
      const body = toBody({ name: changes.name ?? stored.name, items: changes.items ?? stored.items });
      return client.sites.navigation.put(siteId, id, body, options);
    },
    changes: [['sites', siteId, 'menus']],
    onSaved: (isChanged) => {
      showToast(isChanged ? 'The menu was saved. Visitors see it at once.' : KEPT_TEXT);
      onSaved();
    },
  });
  return edit;
}

function Editor({ base, onSaved }: { base: Answer<Menu>; onSaved: () => void }) {
  const siteId = useSiteId();
  const { id, name, items } = base.data;
  const edit = useMenuEdit(base, onSaved);
  return (
    <>
      <Form
        name={`menu-${siteId}-${id}`}
        initial={{ name, items: JSON.stringify(items) }}
        error={edit.error}
        onSubmit={(values) => edit.submit(changedFields(toFields(values), base.data))}
      >
        {(values) => (
          <>
            <Toolbar
              isChanged={Object.keys(changedFields(toFields(values), base.data)).length > 0}
              isPending={edit.isPending}
              call={(client) => client.sites.navigation.put(siteId, id, toBody(toFields(values)), { ifMatch: base.etag })}
            />
            <Field name="name" label="Name" required autoComplete="off" />
            <ItemsField />
          </>
        )}
      </Form>
      <EditConflictDialog
        subject={name}
        base={base}
        edit={edit}
        labels={{ name: 'Name', items: 'Items' }}
        formats={{ items: (each) => formatItems(each) }}
        onClose={edit.dismiss}
      />
    </>
  );
}

interface ToolbarProps {
  isChanged: boolean;
  isPending: boolean;
  call: (client: Client) => PromiseLike<unknown>;
}

function Toolbar({ isChanged, isPending, call }: ToolbarProps) {
  useUnsavedWarning(isChanged && !isPending);
  return (
    <div class="toolbar">
      <span class="small muted" role="status">
        {isChanged ? 'Changes are not saved.' : 'The menu is saved.'}
      </span>
      <CurlButton call={call} />
      <button type="submit" class="button primary" disabled={!isChanged || isPending}>
        {isPending ? 'Saving' : 'Save menu'}
      </button>
    </div>
  );
}

function ItemsField() {
  const siteId = useSiteId();
  const { value, setValue, error } = useField('items', false);
  const pages = useList(['sites', siteId, 'pages', 'tree'], (client, page, options) =>
    client.sites.pages.list(siteId, { ...page, limit: 100 }, options),
  );
  const items = JSON.parse(value) as MenuItem[];
  return <ItemList items={items} pages={pages.items} error={error} onChange={(changed) => setValue(JSON.stringify(changed))} />;
}
