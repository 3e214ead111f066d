/** The dialogs that restore and publish a revision. */

import type { Page, RevisionSummary } from '../../api/client';
import { ActionDialog } from '../../ui/action-dialog';
import { Time, ZoneName } from '../../ui/time';
import { keysOfPage } from './page-keys';

interface RevisionDialogProps {
  page: Page;
  etag: string | null;
  revision: RevisionSummary;
  onClose: () => void;
}

/** Restore a revision as the draft. */
export function RestoreDialog({ page, etag, revision, onClose }: RevisionDialogProps) {
  return (
    <ActionDialog
      title="Restore this revision?"
      confirmLabel="Restore"
      isDangerous={false}
      call={(client, options) => client.sites.pages.revisions.restore(page.siteId, page.id, revision.id, { ...options, ifMatch: etag })}
      changes={keysOfPage(page)}
      doneText="The revision is the draft again. Visitors see it once you publish it."
      onClose={onClose}
    >
      <p>
        The draft becomes what “{revision.title}” was at <Time value={revision.createdAt} /> <ZoneName />. The current draft stays in this list, and what
        visitors see does not change.
      </p>
    </ActionDialog>
  );
}

/** Publish a revision. */
export function PublishRevisionDialog({ page, etag, revision, onClose }: RevisionDialogProps) {
  return (
    <ActionDialog
      title="Publish this revision?"
      confirmLabel="Publish"
      isDangerous={false}
      call={(client, options) => client.sites.pages.publish(page.siteId, page.id, { revisionId: revision.id }, { ...options, ifMatch: etag })}
      changes={keysOfPage(page)}
      doneText="The revision is published."
      onClose={onClose}
    >
      <p>
        Visitors see “{revision.title}” as it was at <Time value={revision.createdAt} /> <ZoneName />. The draft does not change.
      </p>
    </ActionDialog>
  );
}
