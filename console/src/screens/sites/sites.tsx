/** The sites of an organization. */

import { operations } from '../../api/access';
import type { Site } from '../../api/client';
import { useList } from '../../api/queries';
import { linkTo, navigate, useDialog } from '../../ui/address';
import { DialogButton } from '../../ui/dialog-buttons';
import { FormDialog } from '../../ui/form-dialog';
import { NameFilters, TRY_ANOTHER_WORD, useNameQuery } from '../../ui/name-filters';
import { PageHeader } from '../../ui/page';
import { useCan, useOrganizationId } from '../../ui/place';
import { RoleNotice } from '../../ui/role-notice';
import { Empty } from '../../ui/states';
import { List, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { NEW_SITE, SiteFields, toSiteFields } from './site-form';
import { SiteStatus } from './site-status';

const COLUMNS: readonly Column<Site>[] = [
  {
    title: 'Name',
    kind: 'primary',
    render: (each) => (
      <>
        <a href={linkTo(`/s/${each.id}`)}>{each.name}</a>
        {each.description && <span class="sub">{each.description}</span>}
      </>
    ),
  },
  { title: 'Status', render: (each) => <SiteStatus site={each} /> },
  { title: 'Host', render: (each) => <span class="break">{each.host}</span> },
  { title: 'Changed', kind: 'time', render: (each) => <Time value={each.updatedAt} /> },
];

/** The screen. */
export default function Sites() {
  const organizationId = useOrganizationId();
  const { name, close } = useDialog();
  const names = useNameQuery();
  const query = useList(['organizations', organizationId, 'sites', names], (client, page, options) =>
    client.organizations.sites.list(organizationId, { ...page, ...names }, options),
  );
  const createButton = useCan(operations.create_site) && <DialogButton dialog="create" kind="primary">Create site</DialogButton>;
  return (
    <>
      <PageHeader title="Sites" description="Websites with pages, menus and redirects." actions={createButton} />
      <RoleNotice rule={operations.create_site}>You can read all sites.</RoleNotice>
      <div class="filters">
        <NameFilters placeholder="Name or slug" usualOrder="Oldest first" />
      </div>
      <List
        query={query}
        noun="site"
        columns={COLUMNS}
        getKey={(each) => each.id}
        empty={
          <Empty title={names.q ? 'No site is found' : 'No sites yet'} action={createButton}>
            {names.q
              ? TRY_ANOTHER_WORD
              : 'A site is a website. Create one, write its pages, and publish it when it is ready. Until then only members see it.'}
          </Empty>
        }
      />
      {name === 'create' && <CreateDialog onClose={close} />}
    </>
  );
}

function CreateDialog({ onClose }: { onClose: () => void }) {
  const organizationId = useOrganizationId();
  return (
    <FormDialog
      title="Create a site"
      name="create-site"
      initial={NEW_SITE}
      submitLabel="Create site"
      call={(client, values, options) => client.organizations.sites.create(organizationId, toSiteFields(values), options)}
      changes={[['organizations', organizationId, 'sites']]}
      onDone={(site) => navigate(`/s/${site.id}/pages`)}
      onClose={onClose}
    >
      {() => <SiteFields slugHint="Part of its host. Made from the name if you leave it empty." />}
    </FormDialog>
  );
}
