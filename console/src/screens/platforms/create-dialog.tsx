/** The dialog that creates a platform. */

import type { PlatformCreate } from '../../api/client';
import { navigate } from '../../ui/address';
import { Field, type Values } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';
import { useOrganizationId } from '../../ui/place';
import { JoinPolicyField } from './join-policy';

/** Create a platform, and open it. */
export function CreatePlatformDialog({ onClose }: { onClose: () => void }) {
  const organizationId = useOrganizationId();
  const toBody = ({ name = '', slug, description, joinPolicy }: Values): PlatformCreate => ({
    organizationId,
    name,
    ...(slug ? { slug } : {}),
    ...(description ? { description } : {}),
    joinPolicy: joinPolicy as 'invite',
  });
  const initial = { name: '', slug: '', description: '', joinPolicy: 'invite' };
  return (
    <FormDialog
      title="Create a platform"
      name="create-platform"
      initial={initial}
      submitLabel="Create platform"
      call={(client, values, options) => client.platforms.create(toBody(values), options)}
      changes={[['platforms', 'list']]}
      doneText={(platform) => `${platform.name} was created.`}
      onDone={(platform) => navigate(`/p/${platform.id}`)}
      onClose={onClose}
    >
      {() => (
        <>
          <Field name="name" label="Name" required autoComplete="off" />
          <Field name="slug" label="Slug" hint="Part of its address. Derived from the name if you leave it empty." autoComplete="off" />
          <Field name="description" label="Description" type="textarea" />
          <JoinPolicyField />
        </>
      )}
    </FormDialog>
  );
}
