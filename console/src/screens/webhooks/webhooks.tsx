/** The webhooks of an organization. */

import { operations } from '../../api/access';
import type { Webhook } from '../../api/client';
import { useList } from '../../api/queries';
import { linkTo, useDialog } from '../../ui/address';
import { DialogButton } from '../../ui/dialog-buttons';
import { EventPatterns } from '../../ui/event-patterns';
import { PageHeader } from '../../ui/page';
import { useCan, useOrganizationId } from '../../ui/place';
import { Empty } from '../../ui/states';
import { List, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { CreateDialog } from './create-dialog';
import { WebhookState } from './states';

/** The screen. */
export default function Webhooks() {
  const organizationId = useOrganizationId();
  const { name, close } = useDialog();
  const canCreate = useCan(operations.create_webhook);
  const query = useList(['organizations', organizationId, 'webhooks'], (client, page, options) =>
    client.organizations.webhooks.list(organizationId, page, options),
  );
  const createButton = canCreate && <DialogButton dialog="create" kind="primary">Create webhook</DialogButton>;
  return (
    <>
      <PageHeader title="Webhooks" description="Addresses of yours that receive the events of this organization." actions={createButton} />
      <List
        query={query}
        noun="webhook"
        columns={useColumns()}
        getKey={(each) => each.id}
        empty={
          <Empty title="No webhooks yet" action={createButton}>
            A webhook sends each event to an https address of yours within seconds. Failed deliveries are repeated for
            days. Create one, and store its secret in the receiver.
          </Empty>
        }
      />
      {name === 'create' && <CreateDialog onClose={close} />}
    </>
  );
}

function useColumns(): readonly Column<Webhook>[] {
  const organizationId = useOrganizationId();
  return [
    {
      title: 'URL',
      kind: 'primary',
      render: (each) => (
        <>
          <a class="break" href={linkTo(`/o/${organizationId}/webhooks/${each.id}`)}>
            {each.url}
          </a>
          {each.description && <span class="sub">{each.description}</span>}
        </>
      ),
    },
    { title: 'Status', render: (each) => <WebhookState webhook={each} /> },
    { title: 'Events', render: (each) => <EventPatterns patterns={each.events} isShort /> },
    { title: 'Created', kind: 'time', render: (each) => <Time value={each.createdAt} /> },
  ];
}
