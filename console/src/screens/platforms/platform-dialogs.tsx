/** The dialogs of a platform: its settings, publishing, and deleting. */

import type { Platform, PlatformPatch } from '../../api/client';
import { ActionDialog } from '../../ui/action-dialog';
import { navigate, useDialog } from '../../ui/address';
import { DeleteDialog } from '../../ui/delete-dialog';
import { EditDialog } from '../../ui/edit-form';
import { Field } from '../../ui/form';
import { usePlatform } from '../../ui/place';
import { JoinPolicyField } from './join-policy';

interface PlatformDialogProps {
  platform: Platform;
  onClose: () => void;
}

/** The dialog that the address names. */
export function PlatformDialogs({ platform }: { platform: Platform }) {
  const { name, close } = useDialog();
  const props = { platform, onClose: close };
  if (name === 'settings') return <SettingsDialog {...props} />;
  if (name === 'publish' || name === 'unpublish') return <PublicationDialog {...props} isPublished={name === 'publish'} />;
  return name === 'delete' ? <DeletePlatformDialog {...props} /> : null;
}

function SettingsDialog({ platform, onClose }: PlatformDialogProps) {
  return (
    <EditDialog
      title="Edit settings"
      recordKey={['platforms', platform.id]}
      read={(client, options) => client.platforms.get(platform.id, options)}
      toFields={({ name, slug, description, joinPolicy, defaultLocale }: Platform) => ({ name, slug, description, joinPolicy, defaultLocale })}
      save={(client, changes, options) => client.platforms.update(platform.id, changes as PlatformPatch, options)}
      changes={[['platforms']]}
      subject={platform.name}
      labels={{ joinPolicy: 'Who can join' }}
      savedText="The settings were saved."
      onClose={onClose}
    >
      {(values) => (
        <>
          <Field name="name" label="Name" required />
          <Field name="slug" label="Slug" required hint={<SlugHint platform={platform} slug={values.slug ?? ''} />} />
          <Field name="description" label="Description" type="textarea" />
          <JoinPolicyField />
          <Field name="defaultLocale" label="Default locale" required hint="A language tag such as en or pt-BR." />
        </>
      )}
    </EditDialog>
  );
}

function SlugHint({ platform, slug }: { platform: Platform; slug: string }) {
  if (slug === platform.slug) return <>Part of its address.</>;
  return platform.status === 'published' ? <>The former slug stays reserved for 90 days.</> : <>Others can take the former slug at once.</>;
}

function PublicationDialog({ platform, isPublished, onClose }: PlatformDialogProps & { isPublished: boolean }) {
  const etag = usePlatform().data?.etag ?? null;
  return (
    <ActionDialog
      title={isPublished ? `Publish ${platform.name}?` : `Unpublish ${platform.name}?`}
      confirmLabel={isPublished ? 'Publish' : 'Unpublish'}
      isDangerous={!isPublished}
      call={(client) => client.platforms.publish(platform.id, { published: isPublished }, { ifMatch: etag })}
      changes={[['platforms']]}
      doneText={isPublished ? `${platform.name} is published.` : `${platform.name} is a draft again.`}
      onClose={onClose}
    >
      <p>{isPublished ? describePublishing(platform) : 'Only its members and the organization see a draft. Visitors get no configuration, and nobody can join.'}</p>
    </ActionDialog>
  );
}

function describePublishing({ joinPolicy }: Platform): string {
  const who = joinPolicy === 'open' ? 'Everybody can join it.' : 'People join it by invitation.';
  return `Everybody can read its name, theme, navigation, home page and modules. ${who}`;
}

function DeletePlatformDialog({ platform, onClose }: PlatformDialogProps) {
  const etag = usePlatform().data?.etag ?? null;
  return (
    <DeleteDialog
      name={platform.name}
      call={(client) => client.platforms.delete(platform.id, { ifMatch: etag })}
      changes={[['platforms', 'list']]}
      onDone={() => navigate(`/o/${platform.organizationId}/platforms`)}
      onClose={onClose}
    >
      <p>Its spaces, members, modules, taxonomy and domain are deleted with it. The entries of the log stay.</p>
    </DeleteDialog>
  );
}
