/** A menu: its name and its nested items. */

import { useParams } from 'wouter-preact';
import { operations } from '../../api/access';
import type { Client, Menu, MenuItem, MenuPut, ReadOptions } from '../../api/client';
import { useEditBase } from '../../api/edits';
import { useList } from '../../api/queries';
import { EditPage, type EditPageProps } from '../../ui/edit-form';
import { Field, useField } from '../../ui/form';
import { BackLink, PageHeader } from '../../ui/page';
import { useCan, useSiteId } from '../../ui/place';
import { RoleNotice } from '../../ui/role-notice';
import { RecordView } from '../../ui/table';
import { ItemList, ReadOnlyItems } from './item-list';
import { formatItems } from './menu-items';

/** The screen. */
export default function MenuEditor() {
  const siteId = useSiteId();
  const { menu: id = '' } = useParams<{ menu: string }>();
  const canEdit = useCan(operations.put_navigation_menu);
  const record = {
    recordKey: ['sites', siteId, 'menus', id],
    read: (client: Client, options?: ReadOptions) => client.sites.navigation.get(siteId, id, options),
  };
  return (
    <>
      <BackLink path={`/s/${siteId}/menus`}>Menus</BackLink>
      <RecordView query={useEditBase<Menu>(record.recordKey, record.read)}>
        {({ name, items }) => (
          <>
            <PageHeader title={name} description={<>Menu <code>{id}</code>, up to three levels. Visitors see changes at once.</>} />
            <RoleNotice rule={operations.put_navigation_menu}>You can read this menu.</RoleNotice>
            {canEdit ? <Editor {...record} id={id} name={name} /> : <ReadOnlyItems items={items} />}
          </>
        )}
      </RecordView>
    </>
  );
}

interface EditorProps extends Pick<EditPageProps<Menu>, 'recordKey' | 'read'> {
  id: string;
  name: string;
}

function Editor({ id, name, ...record }: EditorProps) {
  const siteId = useSiteId();
  return (
    <EditPage
      {...record}
      canEdit
      toFields={(menu: Menu) => ({ name: menu.name, items: menu.items })}
      // The call replaces both fields. Its type ends after three levels, which the form keeps to.
      save={(client, changes, options, stored) =>
        client.sites.navigation.put(siteId, id, { name: stored.name, items: stored.items, ...changes } as MenuPut, options)
      }
      changes={[['sites', siteId, 'menus']]}
      subject={name}
      labels={{ name: 'Name', items: 'Items' }}
      formats={{ items: formatItems }}
      savedText="The menu was saved."
      submitLabel="Save menu"
    >
      {() => (
        <>
          <Field name="name" label="Name" required autoComplete="off" />
          <ItemsField />
        </>
      )}
    </EditPage>
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
