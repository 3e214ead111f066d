/** The dialog that deletes a redirect. */

import type { Client, Redirect } from '../../api/client';
import { useAction, useRecord } from '../../api/queries';
import { ConfirmDialog } from '../../ui/dialog';
import { useSiteId } from '../../ui/place';
import { showToast } from '../../ui/toast';

/** Delete a redirect. One that the service made cannot be made again, so its path has to be typed. */
export function DeleteRedirectDialog({ redirect, onClose }: { redirect: Redirect; onClose: () => void }) {
  const siteId = useSiteId();
  const current = useRecord(['sites', siteId, 'redirects', redirect.id], (client, options) =>
    client.sites.redirects.get(siteId, redirect.id, options),
  );
  const isOfPage = redirect.origin === 'page';
  const call = (client: Client) => client.sites.redirects.delete(siteId, redirect.id, { ifMatch: current.data?.etag ?? null });
  const action = useAction({
    call: (client, _: void) => call(client),
    changes: [['sites', siteId, 'redirects']],
    onSuccess: () => {
      showToast(`The redirect of ${redirect.fromPath} was deleted.`);
      onClose();
    },
  });
  return (
    <ConfirmDialog
      title={`Delete the redirect of ${redirect.fromPath}?`}
      confirmLabel="Delete"
      {...(isOfPage && { typed: redirect.fromPath })}
      action={{ ...action, isPending: action.isPending || current.isPending, error: action.error ?? current.error }}
      call={call}
      onClose={onClose}
    >
      <p>
        Visitors of this path then get the page there, or nothing.
        {isOfPage && ' The redirects of the former paths below it are deleted, too. The service does not make them again.'}
      </p>
    </ConfirmDialog>
  );
}
