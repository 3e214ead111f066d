/** The dialog that deletes a redirect. */

import type { Redirect } from '../../api/client';
import { useRecord } from '../../api/queries';
import { ActionDialog } from '../../ui/action-dialog';
import { useSiteId } from '../../ui/place';

/** Delete a redirect. One that the service made cannot be made again, so its path has to be typed. */
export function DeleteRedirectDialog({ redirect: { id, fromPath, origin }, onClose }: { redirect: Redirect; onClose: () => void }) {
  const siteId = useSiteId();
  const current = useRecord(['sites', siteId, 'redirects', id], (client, options) => client.sites.redirects.get(siteId, id, options));
  const isOfPage = origin === 'page';
  return (
    <ActionDialog
      title={`Delete the redirect of ${fromPath}?`}
      confirmLabel="Delete"
      {...(isOfPage && { typed: fromPath })}
      call={(client) => client.sites.redirects.delete(siteId, id, { ifMatch: current.data?.etag ?? null })}
      changes={[['sites', siteId, 'redirects']]}
      doneText={`The redirect of ${fromPath} was deleted.`}
      onClose={onClose}
    >
      <p>
        Visitors of this path then get the page there, or nothing.
        {isOfPage && ' The redirects of the former paths below it are deleted, too. The service does not make them again.'}
      </p>
    </ActionDialog>
  );
}
