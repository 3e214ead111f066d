/** The redirects of a site, and what a visitor gets at an address. */

import { operations } from '../../api/access';
import type { Redirect } from '../../api/client';
import { useList } from '../../api/queries';
import { useDialog } from '../../ui/address';
import { actionsColumn, DialogButton } from '../../ui/dialog-buttons';
import { PageHeader } from '../../ui/page';
import { useCan, useSiteId } from '../../ui/place';
import { RoleNotice } from '../../ui/role-notice';
import { Empty } from '../../ui/states';
import { Status } from '../../ui/status';
import { List, type Column } from '../../ui/table';
import { DeleteRedirectDialog } from './delete-dialog';
import { CreateRedirectDialog, EditRedirectDialog } from './redirect-dialogs';
import { TryDialog } from './try-dialog';

const COLUMNS: readonly Column<Redirect>[] = [
  {
    title: 'From',
    kind: 'primary',
    render: (each) => (
      <>
        <code class="break">{each.fromPath}</code>
        {each.origin === 'page' && <span class="sub">Former path of a page</span>}
      </>
    ),
  },
  { title: 'To', render: (each) => (each.toPath === null ? <span class="muted">Page not published</span> : <code class="break">{each.toPath}</code>) },
  { title: 'Status code', render: (each) => String(each.statusCode) },
  { title: 'Status', render: (each) => (each.enabled ? <Status tone="good">Enabled</Status> : <Status tone="neutral">Disabled</Status>) },
];

/** The screen. */
export default function Redirects() {
  const siteId = useSiteId();
  const query = useList(['sites', siteId, 'redirects'], (client, page, options) => client.sites.redirects.list(siteId, page, options));
  const canUpdate = useCan(operations.update_redirect);
  const createButton = useCan(operations.create_redirect) && <DialogButton dialog="create" kind="primary">Create redirect</DialogButton>;
  return (
    <>
      <PageHeader
        title="Redirects"
        description="Former paths, and where their visitors are led."
        actions={
          <>
            <DialogButton dialog="try">Try an address</DialogButton>
            {createButton}
          </>
        }
      />
      <RoleNotice rule={operations.create_redirect}>You can read all redirects.</RoleNotice>
      <List
        query={query}
        noun="redirect"
        columns={canUpdate ? [...COLUMNS, ACTIONS] : COLUMNS}
        getKey={(each) => each.id}
        empty={
          <Empty title="No redirects yet" action={createButton}>
            A redirect leads visitors of a former path to a current one. When a published page moves, the service makes one by itself.
          </Empty>
        }
      />
      <Dialogs redirects={query.items} />
    </>
  );
}

const ACTIONS = actionsColumn<Redirect>(({ id, fromPath }) => ({
  id,
  name: fromPath,
  actions: [
    { dialog: 'edit', text: 'Edit' },
    { dialog: 'delete', text: 'Delete', kind: 'danger' },
  ],
}));

/** The dialog that the address names. */
function Dialogs({ redirects }: { redirects: readonly Redirect[] }) {
  const { name, id, close } = useDialog();
  if (name === 'create') return <CreateRedirectDialog onClose={close} />;
  if (name === 'try') return <TryDialog onClose={close} />;
  if (id && name === 'edit') return <EditRedirectDialog redirectId={id} onClose={close} />;
  const redirect = redirects.find((each) => each.id === id);
  return redirect && name === 'delete' ? <DeleteRedirectDialog redirect={redirect} onClose={close} /> : null;
}
