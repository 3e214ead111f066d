/** The dialog that deletes an organization. */

import type { Organization } from '../../api/client';
import { navigate } from '../../ui/address';
import { DeleteDialog } from '../../ui/delete-dialog';

interface DeleteOrganizationDialogProps {
  organization: Organization;
  etag: string | null;
  onClose: () => void;
}

/** Delete an organization. */
export function DeleteOrganizationDialog({ organization, etag, onClose }: DeleteOrganizationDialogProps) {
  const { id, name } = organization;
  return (
    <DeleteDialog
      name={name}
      confirmLabel="Delete organization"
      call={(client) => client.organizations.delete(id, { ifMatch: etag })}
      changes={[['organizations'], ['me']]}
      onDone={() => navigate('/')}
      onClose={onClose}
    >
      <p>
        All its members, platforms, sites and keys stop working at once. Only you can restore it, for 30 days, on the page of
        your organizations. Then it is purged.
      </p>
    </DeleteDialog>
  );
}
