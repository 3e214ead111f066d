/** The dialog that deletes a redirect. */

import type { Redirect } from '../../api/client';
import { useRecord } from '../../api/queries';
import { ActionDialog } from '../../ui/action-dialog';
import { Dialog } from '../../ui/dialog';
import { useSiteId } from '../../ui/place';
import { Failed, Loading } from '../../ui/states';

interface DeleteRedirectDialogProps {
  redirect: Redirect;
  onClose: () => void;
}

/** Delete a redirect as it was read. One that the service made cannot be made again, so its path has to be typed. */
export function DeleteRedirectDialog({ redirect: { id, fromPath, origin }, onClose }: DeleteRedirectDialogProps) {
  const siteId = useSiteId();
  const current = useRecord(['sites', siteId, 'redirects', id], (client, options) => client.sites.redirects.get(siteId, id, options));
  const title = `Delete the redirect of ${fromPath}?`;
  const isOfPage = origin === 'page';
  if (!current.data) {
    return (
      <Dialog title={title} onClose={onClose}>
        {current.error ? <Failed error={current.error} onRetry={() => current.refetch()} /> : <Loading lines={3} />}
      </Dialog>
    );
  }
  const { etag } = current.data;
  return (
    <ActionDialog
      title={title}
      confirmLabel="Delete"
      {...(isOfPage && { typed: fromPath })}
      call={(client) => client.sites.redirects.delete(siteId, id, { ifMatch: etag })}
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
