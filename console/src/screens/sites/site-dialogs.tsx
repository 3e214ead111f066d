/** The dialogs that publish, unpublish and delete a site. */

import type { Site } from '../../api/client';
import { ActionDialog } from '../../ui/action-dialog';
import { navigate } from '../../ui/address';
import { DeleteDialog } from '../../ui/delete-dialog';
import { useSite } from '../../ui/place';

interface SiteDialogProps {
  site: Site;
  onClose: () => void;
}

/** Publish a site, or turn it into a draft again. */
export function StatusDialog({ site, onClose }: SiteDialogProps) {
  const ifMatch = useSite().data?.etag ?? null;
  const isPublished = site.status === 'published';
  return (
    <ActionDialog
      title={isPublished ? `Unpublish ${site.name}?` : `Publish ${site.name}?`}
      confirmLabel={isPublished ? 'Unpublish' : 'Publish site'}
      isDangerous={isPublished}
      call={(client) => client.sites.update(site.id, { status: isPublished ? 'draft' : 'published' }, { ifMatch })}
      changes={[['sites', site.id], ['organizations', site.organizationId, 'sites']]}
      doneText={isPublished ? 'The site is a draft again.' : 'The site is published.'}
      onClose={onClose}
    >
      <p>
        {isPublished
          ? `Visitors of ${site.host} get nothing until it is published again. Its pages stay as they are.`
          : `Everybody sees the published pages at ${site.host}. Drafts stay visible to members only.`}
      </p>
    </ActionDialog>
  );
}

/** Delete a site. */
export function DeleteSiteDialog({ site, onClose }: SiteDialogProps) {
  const ifMatch = useSite().data?.etag ?? null;
  return (
    <DeleteDialog
      name={site.name}
      confirmLabel="Delete site"
      call={(client) => client.sites.delete(site.id, { ifMatch })}
      changes={[['organizations', site.organizationId, 'sites']]}
      onDone={() => navigate(`/o/${site.organizationId}/sites`)}
      onClose={onClose}
    >
      <p>Its pages, revisions, menus and redirects are deleted at once. This cannot be undone.</p>
    </DeleteDialog>
  );
}
