/** A page: the form of its draft with a preview beside it, and its publication. */

import { useParams } from 'wouter-preact';
import { operations } from '../../api/access';
import type { Answer, Block, Page } from '../../api/client';
import { useEdit, useEditBase } from '../../api/edits';
import { linkTo, useParameter } from '../../ui/address';
import { CurlButton } from '../../ui/curl-button';
import { DialogButton } from '../../ui/dialog-buttons';
import { EditConflictDialog, KEPT_TEXT } from '../../ui/edit-conflict';
import { Field, Form, useField, type Values } from '../../ui/form';
import { lazyDialogs } from '../../ui/lazy-dialogs';
import { changedFields } from '../../ui/merge';
import { BackLink, PageHeader, Section } from '../../ui/page';
import { useCan, useSiteId } from '../../ui/place';
import { RoleNotice } from '../../ui/role-notice';
import { Empty } from '../../ui/states';
import { RecordView } from '../../ui/table';
import { Tile } from '../../ui/tile';
import { Time, TimeLabel } from '../../ui/time';
import { showToast } from '../../ui/toast';
import { useUnsavedWarning } from '../../ui/unsaved';
import { BlockList } from './block-list';
import { BlockPreview } from './block-preview';
import { formatBlocks } from './blocks';
import { PageStatus } from './page-status';

// The dialogs are loaded when one is opened, so that the form is there sooner.
const PageEditorDialogs = lazyDialogs(() => import('./editor-dialogs'));

/** The screen. */
export default function PageEditor() {
  const siteId = useSiteId();
  const { page: pageId = '' } = useParams<{ page: string }>();
  const base = useEditBase<Page>(['sites', siteId, 'pages', pageId], (client, options) =>
    client.sites.pages.get(siteId, pageId, options),
  );
  return (
    <>
      <BackLink path={`/s/${siteId}/pages`}>Pages</BackLink>
      <RecordView query={base}>{() => base.data && <LoadedPage base={base.data} onSaved={() => void base.refetch()} />}</RecordView>
    </>
  );
}

function LoadedPage({ base, onSaved }: { base: Answer<Page>; onSaved: () => void }) {
  const canEdit = useCan(operations.update_page);
  const page = base.data;
  return (
    <>
      <PageHeader title={page.title} description={<span class="break">{page.isHome ? 'Home page' : page.path}</span>} actions={<Links page={page} />} />
      <RoleNotice rule={operations.update_page}>You can read this page and its draft.</RoleNotice>
      <Facts page={page} />
      {canEdit ? (
        <Editor key={page.draftRevisionId} base={base} onSaved={onSaved} />
      ) : (
        <Section title="Draft">
          <Preview title={page.title} blocks={page.blocks} />
        </Section>
      )}
      <PageEditorDialogs base={base} />
    </>
  );
}

function Links({ page }: { page: Page }) {
  return (
    <>
      <a class="button" href={linkTo(`/s/${page.siteId}/pages/${page.id}/revisions`)}>
        Revisions
      </a>
      <DialogButton dialog="preview">Preview link</DialogButton>
    </>
  );
}

function Facts({ page }: { page: Page }) {
  return (
    <dl class="tiles">
      <Tile label="Status">
        <PageStatus page={page} />
      </Tile>
      <Tile label={<TimeLabel>Published</TimeLabel>}>
        <Time value={page.publishedAt} />
      </Tile>
      {page.publishAt && (
        <Tile label={<TimeLabel>Will be published</TimeLabel>}>
          <Time value={page.publishAt} />
        </Tile>
      )}
      {page.unpublishAt && (
        <Tile label={<TimeLabel>Unpublication</TimeLabel>}>
          <Time value={page.unpublishAt} />
        </Tile>
      )}
    </dl>
  );
}

function useDraftEdit(base: Answer<Page>, onSaved: () => void) {
  const { id: pageId, siteId } = base.data;
  return useEdit<Page>({
    base,
    read: (client) => client.sites.pages.get(siteId, pageId),
    save: (client, changes, options) => client.sites.pages.update(siteId, pageId, toPatch(changes), options),
    changes: [['sites', siteId, 'pages']],
    onSaved: (isChanged) => {
      showToast(isChanged ? 'The draft was saved. Visitors see it once you publish it.' : KEPT_TEXT);
      onSaved();
    },
  });
}

function Editor({ base, onSaved }: { base: Answer<Page>; onSaved: () => void }) {
  const { id: pageId, title } = base.data;
  const edit = useDraftEdit(base, onSaved);
  const toChanges = (values: Values) => changedFields({ title: values.title ?? '', blocks: parseBlocks(values) }, base.data);
  return (
    <Section title="Draft">
      <Form
        name={`page-${pageId}`}
        initial={{ title, blocks: JSON.stringify(base.data.blocks) }}
        error={edit.error}
        onSubmit={(values) => edit.submit(toChanges(values))}
      >
        {(values) => (
          <>
            <Toolbar base={base} changes={toChanges(values)} isPending={edit.isPending} />
            <div class="beside">
              <div class="stack">
                <Field name="title" label="Title" required autoComplete="off" />
                <BlocksField />
              </div>
              <Preview title={values.title ?? ''} blocks={parseBlocks(values)} />
            </div>
          </>
        )}
      </Form>
      <EditConflictDialog
        subject={title}
        base={base}
        edit={edit}
        labels={{ title: 'Title', blocks: 'Blocks' }}
        formats={{ blocks: (blocks) => formatBlocks(blocks) }}
        onClose={edit.dismiss}
      />
    </Section>
  );
}

function parseBlocks(values: Values): Block[] {
  return JSON.parse(values.blocks ?? '[]') as Block[];
}

function toPatch({ title, blocks }: { title?: string | undefined; blocks?: Block[] | undefined }) {
  return { ...(title !== undefined && { title }), ...(blocks !== undefined && { blocks }) };
}

function BlocksField() {
  const { value, setValue, error } = useField('blocks', false);
  return <BlockList blocks={JSON.parse(value) as Block[]} pointer="/blocks" error={error} onChange={(blocks) => setValue(JSON.stringify(blocks))} />;
}

interface ToolbarProps {
  base: Answer<Page>;
  changes: Partial<Pick<Page, 'title' | 'blocks'>>;
  isPending: boolean;
}

/** The state of the draft, and what can be done with it. A draft is saved before it is published. */
function Toolbar({ base, changes, isPending }: ToolbarProps) {
  const [, setDialog] = useParameter('dialog');
  const { id, siteId, status, hasUnpublishedChanges } = base.data;
  const isChanged = Object.keys(changes).length > 0;
  useUnsavedWarning(isChanged && !isPending);
  const canPublish = !isChanged && (status !== 'published' || hasUnpublishedChanges);
  const call = { ifMatch: base.etag };
  return (
    <div class="toolbar">
      <span class="small muted" role="status">
        {isChanged ? 'Changes are not saved.' : canPublish ? 'The draft is saved, and not published.' : 'Visitors see this draft.'}
      </span>
      <CurlButton call={(client) => client.sites.pages.update(siteId, id, toPatch(changes), call)} />
      <button type="button" class="button" disabled={isChanged} onClick={() => setDialog('settings')}>
        Settings
      </button>
      <button type="button" class="button" disabled={isChanged} onClick={() => setDialog('schedule')}>
        Schedule
      </button>
      {status === 'published' && (
        <button type="button" class="button" disabled={isChanged} onClick={() => setDialog('unpublish')}>
          Unpublish
        </button>
      )}
      <button type="submit" class={isChanged ? 'button primary' : 'button'} disabled={!isChanged || isPending}>
        {isPending ? 'Saving' : 'Save draft'}
      </button>
      <button type="button" class={canPublish ? 'button primary' : 'button'} disabled={!canPublish} onClick={() => setDialog('publish')}>
        Publish
      </button>
    </div>
  );
}

function Preview({ title, blocks }: { title: string; blocks: readonly Block[] }) {
  return (
    <section class="paper" aria-label="Preview of the text" tabIndex={0}>
      <p class="small muted">The text as it is written. A preview link shows it as a page.</p>
      <p class="as-heading level-1">{title}</p>
      {blocks.length ? (
        <BlockPreview blocks={blocks} />
      ) : (
        <Empty title="No blocks yet">Add a block, such as a heading or a text. It appears here while you write.</Empty>
      )}
    </section>
  );
}
