/** The dialogs that change the slug and the metadata of a page, and when it is published. */

import type { ComponentChildren } from 'preact';
import type { Page, PagePatch } from '../../api/client';
import { CheckField } from '../../ui/check-field';
import type { Formats } from '../../ui/edit-conflict';
import { EditDialog } from '../../ui/edit-form';
import { Field } from '../../ui/form';
import type { Fields } from '../../ui/merge';
import { TimeField } from '../../ui/time-field';
import { keysOfPage } from './page-keys';

interface PageDialogProps {
  page: Page;
  onClose: () => void;
}

const LABELS = {
  slug: 'Slug',
  isHome: 'Home page',
  'seo/title': 'Title for search engines',
  'seo/description': 'Description for search engines',
  'seo/canonical': 'Canonical URL',
  'seo/image': 'Image for link previews',
  'seo/noindex': 'Ask search engines to ignore the page',
  publishAt: 'Publish at',
  unpublishAt: 'Unpublish at',
};

const yesOrNo = (value: boolean) => (value ? 'Yes' : 'No');
const FORMATS: Formats = { isHome: yesOrNo, 'seo/noindex': yesOrNo };
const SEO_FIELDS = ['title', 'description', 'canonical', 'image', 'noindex'] as const;

function toSettings({ slug, isHome, seo }: Page): Fields {
  return { slug, isHome, ...Object.fromEntries(SEO_FIELDS.map((name) => [`seo/${name}`, seo[name]])) };
}

/** Return the patch for changed fields of the form. The metadata for search engines are replaced as a whole. */
function toPatch(changes: Fields, { seo }: Page): PagePatch {
  const others = Object.entries(changes).filter(([name]) => !name.startsWith('seo/'));
  const ofSeo = SEO_FIELDS.filter((name) => `seo/${name}` in changes).map((name) => [name, changes[`seo/${name}`]]);
  return { ...Object.fromEntries(others), ...(ofSeo.length > 0 && { seo: { ...seo, ...Object.fromEntries(ofSeo) } }) };
}

/** Change the slug and the metadata. */
export function SettingsDialog(props: PageDialogProps) {
  return (
    <PageEditDialog title="Settings of the page" toFields={toSettings} {...props}>
      <Field name="slug" label={LABELS.slug} required hint="Its part of the path. Visitors find it at the new path once it is published." />
      <CheckField name="isHome" label={LABELS.isHome} hint="It is at the path /." />
      <Field name="seo/title" label={LABELS['seo/title']} hint="Replaces the title of the page." />
      <Field name="seo/description" label={LABELS['seo/description']} type="textarea" />
      <Field name="seo/canonical" label={LABELS['seo/canonical']} type="url" hint="Where the content was published first, if elsewhere." />
      <Field name="seo/image" label={LABELS['seo/image']} type="url" />
      <CheckField name="seo/noindex" label={LABELS['seo/noindex']} />
    </PageEditDialog>
  );
}

/** Choose when the page is published and unpublished. */
export function ScheduleDialog(props: PageDialogProps) {
  return (
    <PageEditDialog title="Schedule the page" toFields={({ publishAt, unpublishAt }) => ({ publishAt, unpublishAt })} {...props}>
      <TimeField name="publishAt" label={LABELS.publishAt} hint="The draft of that time is published by itself." />
      <TimeField name="unpublishAt" label={LABELS.unpublishAt} hint="Visitors get nothing from then on." />
    </PageEditDialog>
  );
}

interface PageEditDialogProps extends PageDialogProps {
  title: string;
  toFields: (page: Page) => Fields;
  children: ComponentChildren;
}

/** The record is that of the editor of the draft, which reads it again after each change. */
function PageEditDialog({ page, title, toFields, onClose, children }: PageEditDialogProps) {
  const { id, siteId } = page;
  return (
    <EditDialog
      title={title}
      recordKey={['sites', siteId, 'pages', id]}
      read={(client, options) => client.sites.pages.get(siteId, id, options)}
      toFields={toFields}
      save={(client, changes, options, record) => client.sites.pages.update(siteId, id, toPatch(changes, record), options)}
      changes={keysOfPage(page)}
      subject={page.title}
      labels={LABELS}
      formats={FORMATS}
      savedText="The page was saved."
      submitLabel="Save"
      onClose={onClose}
    >
      {() => children}
    </EditDialog>
  );
}
