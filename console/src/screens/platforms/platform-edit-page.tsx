/** A screen that edits a part of a platform, such as its theme. */

import type { Platform } from '../../api/client';
import { EditPage, type EditPageProps } from '../../ui/edit-form';
import { PageHeader } from '../../ui/page';
import { useCan, usePlatformId } from '../../ui/place';
import { RoleNotice } from '../../ui/role-notice';

interface PlatformEditPageProps extends Pick<EditPageProps<Platform>, 'toFields' | 'save' | 'labels' | 'children'> {
  title: string;
  description: string;
  /** What the part is called. */
  noun: string;
  /** The access rule of the edit, and what is told to those who can only read. */
  rule: string;
  readOnlyText: string;
}

/** The screen. */
export function PlatformEditPage({ title, description, noun, rule, readOnlyText, ...props }: PlatformEditPageProps) {
  const platformId = usePlatformId();
  return (
    <>
      <PageHeader title={title} description={description} />
      <RoleNotice rule={rule}>{readOnlyText}</RoleNotice>
      <EditPage
        {...props}
        canEdit={useCan(rule)}
        recordKey={['platforms', platformId]}
        read={(client, options) => client.platforms.get(platformId, options)}
        changes={[['platforms', platformId]]}
        subject={`the ${noun}`}
        savedText={`The ${noun} was saved.`}
      />
    </>
  );
}
