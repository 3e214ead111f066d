/** The menus of a site. */

import { operations } from '../../api/access';
import type { MenuSummary } from '../../api/client';
import { useList } from '../../api/queries';
import { linkTo, navigate, useDialog } from '../../ui/address';
import { DialogButton } from '../../ui/dialog-buttons';
import { Field } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';
import { PageHeader } from '../../ui/page';
import { useCan, useSiteId } from '../../ui/place';
import { RoleNotice } from '../../ui/role-notice';
import { Empty } from '../../ui/states';
import { List, type Column } from '../../ui/table';
import { Time } from '../../ui/time';

const COLUMNS: readonly Column<MenuSummary>[] = [
  {
    title: 'Name',
    kind: 'primary',
    render: (each) => <a href={linkTo(`/s/${each.siteId}/menus/${encodeURIComponent(each.id)}`)}>{each.name}</a>,
  },
  { title: 'Id', render: (each) => <code>{each.id}</code> },
  { title: 'Changed', kind: 'time', render: (each) => <Time value={each.updatedAt} /> },
];

/** The screen. */
export default function Menus() {
  const siteId = useSiteId();
  const { name, close } = useDialog();
  const query = useList(['sites', siteId, 'menus'], (client, page, options) =>
    client.sites.navigation.list(siteId, { ...page, limit: 100 }, options),
  );
  const createButton = useCan(operations.put_navigation_menu) && <DialogButton dialog="create" kind="primary">Create menu</DialogButton>;
  return (
    <>
      <PageHeader
        title="Menus"
        description="Links that visitors find on every page. The pages of the service show the menu with the id main."
        actions={createButton}
      />
      <RoleNotice rule={operations.put_navigation_menu}>You can read all menus.</RoleNotice>
      <List
        query={query}
        noun="menu"
        columns={COLUMNS}
        getKey={(each) => each.id}
        empty={
          <Empty title="No menus yet" action={createButton}>
            A menu is a list of links to pages and addresses. Create one with the id main to show it on every page.
          </Empty>
        }
      />
      {name === 'create' && !query.isPending && <CreateDialog existing={query.items} onClose={close} />}
    </>
  );
}

/** Create a menu. Ids that exist are named before the call. It is not repeated by itself, because it fails after a success. */
function CreateDialog({ existing, onClose }: { existing: readonly MenuSummary[]; onClose: () => void }) {
  const siteId = useSiteId();
  const isTaken = (id: string) => existing.some((each) => each.id === id);
  return (
    <FormDialog
      title="Create a menu"
      name={`create-menu-${siteId}`}
      initial={{ id: existing.length ? '' : 'main', name: '' }}
      submitLabel="Create menu"
      isDisabled={({ id = '' }) => isTaken(id) || !/^[a-z0-9][a-z0-9-]{0,63}$/.test(id)}
      call={(client, { id = '', name = '' }, options) =>
        client.sites.navigation.put(siteId, id, { name, items: [] }, { ...options, maxRetries: 0, ifNoneMatch: '*' })
      }
      changes={[['sites', siteId, 'menus']]}
      onDone={(menu) => navigate(`/s/${siteId}/menus/${menu.id}`)}
      onClose={onClose}
    >
      {({ id = '' }) => (
        <>
          <Field name="id" label="Id" required autoComplete="off" hint="Lower-case letters, digits and hyphens. It cannot be changed." />
          {isTaken(id) && <p class="notice warning">A menu has this id already. Choose another, or edit that menu.</p>}
          <Field name="name" label="Name" required autoComplete="off" />
        </>
      )}
    </FormDialog>
  );
}
