/** The platforms of an organization. */

import { operations } from '../../api/access';
import type { PlatformSummaryListItem } from '../../api/client';
import { useList } from '../../api/queries';
import { linkTo, useChoice, useDialog } from '../../ui/address';
import { DialogButton } from '../../ui/dialog-buttons';
import { SelectFilter } from '../../ui/filters';
import { NameFilters, TRY_ANOTHER_WORD, useNameQuery } from '../../ui/name-filters';
import { PageHeader } from '../../ui/page';
import { useCan, useOrganizationId } from '../../ui/place';
import { RoleNotice } from '../../ui/role-notice';
import { Empty } from '../../ui/states';
import { Status, toWords } from '../../ui/status';
import { List, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { CreatePlatformDialog } from './create-dialog';

const STATUSES = ['draft', 'published'] as const;

const COLUMNS: readonly Column<PlatformSummaryListItem>[] = [
  {
    title: 'Name',
    kind: 'primary',
    render: (each) => (
      <>
        <a href={linkTo(`/p/${each.id}`)}>{each.name}</a>
        <span class="sub">{each.slug}</span>
      </>
    ),
  },
  { title: 'Status', render: (each) => <Status tone={each.status === 'published' ? 'good' : 'neutral'}>{toWords(each.status)}</Status> },
  { title: 'Who can join', render: (each) => (each.joinPolicy === 'open' ? 'Everybody' : 'Invited people') },
  { title: 'Your role', render: (each) => toWords(each.role ?? 'none') },
  { title: 'Created', kind: 'time', render: (each) => <Time value={each.createdAt} /> },
];

/** The screen. */
export default function Platforms() {
  const organizationId = useOrganizationId();
  const { name, close } = useDialog();
  const [status] = useChoice('status', STATUSES);
  const canCreate = useCan(operations.create_platform);
  const names = useNameQuery();
  const query = useList(['platforms', 'list', organizationId, { status, ...names }], (client, page, options) =>
    client.platforms.list({ ...page, organizationId, status, ...names }, options),
  );
  const createButton = canCreate && <DialogButton dialog="create" kind="primary">Create platform</DialogButton>;
  return (
    <>
      <PageHeader title="Platforms" description="Products and communities that the organization offers to people." actions={createButton} />
      <RoleNotice rule={operations.create_platform}>You can open the platforms below.</RoleNotice>
      <div class="filters">
        <NameFilters placeholder="Name or slug" usualOrder="Oldest first" />
        <SelectFilter parameter="status" label="Status" choices={STATUSES} />
      </div>
      <List
        query={query}
        noun="platform"
        columns={COLUMNS}
        getKey={(each) => each.id}
        empty={
          <Empty title={names.q ? 'No platform is found' : status ? `No platform is ${status}` : 'No platforms yet'} action={createButton}>
            {names.q
              ? TRY_ANOTHER_WORD
              : 'A platform has its own members, spaces, modules, theme and domain. It stays a draft until you publish it.'}
          </Empty>
        }
      />
      {name === 'create' && <CreatePlatformDialog onClose={close} />}
    </>
  );
}
