/** The deleted organizations of the user, and the dialog that restores one. */

import type { OrganizationListItem } from '../../api/client';
import { useList } from '../../api/queries';
import { ActionDialog } from '../../ui/action-dialog';
import { useDialog } from '../../ui/address';
import { actionsColumn } from '../../ui/dialog-buttons';
import { Section } from '../../ui/page';
import { List, type Column } from '../../ui/table';
import { Time } from '../../ui/time';

const KEY = ['organizations', 'deleted'];
const RESTORE = 'restore';

const COLUMNS: readonly Column<OrganizationListItem>[] = [
  { title: 'Name', kind: 'primary', render: (each) => each.name },
  { title: 'Purged on', kind: 'time', render: (each) => each.deletionDueAt && <Time value={each.deletionDueAt} /> },
  actionsColumn(({ id, name }) => ({ id, name, actions: [{ dialog: RESTORE, text: 'Restore' }] })),
];

/** The section. */
export default function DeletedOrganizations() {
  const { name, id, close } = useDialog();
  const query = useList(KEY, (client, page, options) =>
    client.organizations.list({ ...page, status: 'pending_deletion' }, options),
  );
  const restored = query.items.find((each) => name === RESTORE && each.id === id);
  return (
    <Section title="Deleted organizations" description="Their owner can restore them for 30 days.">
      <List
        query={query}
        noun="organization"
        caption="Deleted organizations"
        columns={COLUMNS}
        getKey={(each) => each.id}
        empty={<p class="muted">You have deleted no organization in the last 30 days.</p>}
      />
      {restored && <RestoreDialog organization={restored} onClose={close} />}
    </Section>
  );
}

interface RestoreDialogProps {
  organization: OrganizationListItem;
  onClose: () => void;
}

function RestoreDialog({ organization: { id, name }, onClose }: RestoreDialogProps) {
  return (
    <ActionDialog
      title={`Restore ${name}?`}
      confirmLabel="Restore"
      isDangerous={false}
      call={(client) => client.organizations.update(id, { status: 'active' })}
      changes={[['organizations'], ['me']]}
      doneText={`${name} was restored.`}
      onClose={onClose}
    >
      <p>Its members, platforms, sites and keys work again.</p>
    </ActionDialog>
  );
}
