/** The dialogs that create and delete a page. */

import type { Page, PageCreate, PageSummary } from '../../api/client';
import { useList, useRecord } from '../../api/queries';
import { navigate } from '../../ui/address';
import { DeleteDialog } from '../../ui/delete-dialog';
import { Dialog } from '../../ui/dialog';
import { Field, type Values } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';
import { useSiteId } from '../../ui/place';
import { SelectField } from '../../ui/select-field';
import { Failed, Loading } from '../../ui/states';
import { flatten, type Levels } from './page-tree';

/** Return the choices of a parent, indented by level. `excludedId`: a page that cannot be below itself. */
export function parentChoices(levels: Levels, excludedId: string | null) {
  const pages = flatten(levels, excludedId).map(({ page, depth }) => ({
    value: page.id,
    label: `${'\u2003'.repeat(depth)}${page.title}`,
  }));
  return [{ value: '', label: 'None: it is on the first level' }, ...pages];
}

function toBody({ title = '', slug, parentId }: Values): PageCreate {
  return { title, slug: slug || null, parentId: parentId || null };
}

/** Create a page, and open it. */
export function CreatePageDialog({ levels, parentId, onClose }: { levels: Levels; parentId: string | null; onClose: () => void }) {
  const siteId = useSiteId();
  return (
    <FormDialog
      title="Create a page"
      name={`create-page-${siteId}`}
      initial={{ title: '', slug: '', parentId: parentId ?? '' }}
      submitLabel="Create page"
      call={(client, values, options) => client.sites.pages.create(siteId, toBody(values), options)}
      changes={[['sites', siteId]]}
      onDone={(page) => navigate(`/s/${siteId}/pages/${page.id}`)}
      onClose={onClose}
    >
      {() => (
        <>
          <Field name="title" label="Title" required autoComplete="off" />
          <Field name="slug" label="Slug" hint="Its part of the path. Made from the title if you leave it empty." autoComplete="off" />
          <SelectField name="parentId" label="Below" choices={parentChoices(levels, null)} />
        </>
      )}
    </FormDialog>
  );
}

/** Delete a page, with the pages below it. */
export function DeletePageDialog({ pageId, onClose }: { pageId: string; onClose: () => void }) {
  const siteId = useSiteId();
  const page = useRecord(['sites', siteId, 'pages', pageId], (client, options) => client.sites.pages.get(siteId, pageId, options));
  const below = useList(['sites', siteId, 'pages', 'below', pageId], (client, query, options) =>
    client.sites.pages.list(siteId, { ...query, parentId: pageId, limit: 100 }, options),
  );
  const error = page.error ?? below.error;
  if (page.data && !below.isPending && !below.error) {
    return <DeleteForm page={page.data.data} etag={page.data.etag} below={below.items} onClose={onClose} />;
  }
  return (
    <Dialog title="Delete the page" onClose={onClose}>
      {error ? <Failed error={error} onRetry={() => Promise.all([page.refetch(), below.refetch()])} /> : <Loading lines={3} />}
    </Dialog>
  );
}

interface DeleteFormProps {
  page: Page;
  etag: string | null;
  below: readonly PageSummary[];
  onClose: () => void;
}

function DeleteForm({ page, etag, below, onClose }: DeleteFormProps) {
  const query = below.length ? ({ strategy: 'cascade' } as const) : {};
  return (
    <DeleteDialog
      name={page.title}
      confirmLabel="Delete page"
      call={(client) => client.sites.pages.delete(page.siteId, page.id, query, { ifMatch: etag })}
      changes={[['sites', page.siteId]]}
      onDone={() => navigate(`/s/${page.siteId}/pages`)}
      onClose={onClose}
    >
      {below.length > 0 && (
        <p>
          <strong>All pages below it are deleted, too:</strong> {below.map((each) => each.title).join(', ')}, and what is below them.
        </p>
      )}
      <p>Visitors of {page.path} get nothing unless a redirect exists. Its revisions are deleted, and this cannot be undone.</p>
    </DeleteDialog>
  );
}
