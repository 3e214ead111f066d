/** The search of operators for an organization, such as one that a support request names. */

import type { FoundOrganization } from '../../api/client';
import { useList } from '../../api/queries';
import { linkTo, useParameter } from '../../ui/address';
import { CopyText } from '../../ui/copy-text';
import { Details, timeDetail } from '../../ui/details';
import { DetailDialog } from '../../ui/dialog';
import { TextFilter } from '../../ui/filters';
import { PageHeader } from '../../ui/page';
import { useMe } from '../../ui/place';
import { Empty } from '../../ui/states';
import { Status, toWords } from '../../ui/status';
import { List, type Column } from '../../ui/table';
import { Time } from '../../ui/time';

const STATUS: Column<FoundOrganization> = {
  title: 'Status',
  render: (each) => <Status tone={each.status === 'active' ? 'good' : 'warning'}>{toWords(each.status)}</Status>,
};
const CREATED: Column<FoundOrganization> = { title: 'Created', kind: 'time', render: (each) => <Time value={each.createdAt} /> };

/** The screen. */
export default function OrganizationSearch() {
  const [text] = useParameter('q');
  const [id, setId] = useParameter('dialog');
  const query = useList(['system', 'organizations', { text }], (client, page, options) =>
    client.system.organizations.list({ ...page, q: text ?? undefined }, options),
  );
  const found = query.items.find((each) => each.id === id);
  return (
    <>
      <PageHeader
        title="Organizations"
        description="All organizations, whatever their status. A search gives no access to an organization, and is logged without its text."
      />
      <div class="filters">
        <TextFilter parameter="q" label="Search" placeholder="Name, slug or id" />
      </div>
      <List
        query={query}
        noun="organization"
        columns={[createNameColumn(text), STATUS, CREATED]}
        getKey={(each) => each.id}
        empty={
          <Empty title={text ? 'No organization is found' : 'No organizations yet'}>
            The search compares the beginning of the name and the slug, and the complete id. Case and accents do not matter.
          </Empty>
        }
      />
      {found && <OrganizationDialog organization={found} onClose={() => setId(null)} />}
    </>
  );
}

function createNameColumn(q: string | null): Column<FoundOrganization> {
  const render = (each: FoundOrganization) => (
    <>
      <a href={linkTo('/operate/organizations', { q, dialog: each.id })}>{each.name}</a>
      <span class="sub">{each.companyName ? `${each.slug}, ${each.companyName}` : each.slug}</span>
    </>
  );
  return { title: 'Name', kind: 'primary', render };
}

interface OrganizationDialogProps {
  organization: FoundOrganization;
  onClose: () => void;
}

function OrganizationDialog({ organization, onClose }: OrganizationDialogProps) {
  const { id, name, slug, companyName, status, ownerId, createdAt, deletedAt } = organization;
  const role = useMe().data?.data.organizations.find((each) => each.id === id)?.role;
  const open = role && (
    <a class="button primary" href={linkTo(`/o/${id}`)}>
      Open as {role}
    </a>
  );
  return (
    <DetailDialog title={name} onClose={onClose} actions={open}>
      <Details
        items={[
          ['Id', <CopyText text={id} label="Copy id" />],
          ['Slug', slug],
          ['Company', companyName],
          ['Status', toWords(status)],
          ['User id of the owner', <CopyText text={ownerId} label="Copy user id" />],
          timeDetail('Created', createdAt),
          ...(deletedAt ? [timeDetail('Deleted', deletedAt)] : []),
        ]}
      />
      {deletedAt && <p class="notice warning">It is purged 30 days after it was deleted. Until then, its owner can restore it.</p>}
      {!role && <p class="notice">You are no member of this organization. Its owner can invite you.</p>}
    </DetailDialog>
  );
}
