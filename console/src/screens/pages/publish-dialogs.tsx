/** The dialogs that publish and unpublish a page. */

import type { Answer, Page } from '../../api/client';
import { ActionDialog } from '../../ui/action-dialog';
import { keysOfPage } from './page-keys';

interface PageDialogProps {
  base: Answer<Page>;
  onClose: () => void;
}

/** Publish the draft of a page. */
export function PublishDialog({ base, onClose }: PageDialogProps) {
  const { id, siteId, title } = base.data;
  return (
    <ActionDialog
      title={`Publish ${title}?`}
      confirmLabel="Publish"
      isDangerous={false}
      call={(client, options) => client.sites.pages.publish(siteId, id, {}, { ...options, ifMatch: base.etag })}
      changes={keysOfPage(base.data)}
      doneText={(page) => `${title} is published at ${page.path}.`}
      onClose={onClose}
    >
      <p>Visitors see the saved draft at once. If its path changed, the former path redirects to the new one.</p>
    </ActionDialog>
  );
}

/** Unpublish a page now. */
export function UnpublishDialog({ base, onClose }: PageDialogProps) {
  const { id, siteId, title, path } = base.data;
  return (
    <ActionDialog
      title={`Unpublish ${title}?`}
      confirmLabel="Unpublish"
      call={(client) => client.sites.pages.update(siteId, id, { unpublishAt: new Date().toISOString() }, { ifMatch: base.etag })}
      changes={keysOfPage(base.data)}
      doneText={`${title} is not published any more.`}
      onClose={onClose}
    >
      <p>Visitors of {path} get nothing until the page is published again. Its draft and revisions stay.</p>
    </ActionDialog>
  );
}
