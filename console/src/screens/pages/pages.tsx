/** The pages of a site as a tree, or as a list of those that a filter finds. */

import { operations } from '../../api/access';
import { useList } from '../../api/queries';
import { useChoice, useDialog, useParameter } from '../../ui/address';
import { DialogButton } from '../../ui/dialog-buttons';
import { SelectFilter, TextFilter } from '../../ui/filters';
import { PageHeader } from '../../ui/page';
import { useCan, useSiteId } from '../../ui/place';
import { RoleNotice } from '../../ui/role-notice';
import { Failed, Loading } from '../../ui/states';
import { Stale } from '../../ui/table';
import { CreatePageDialog, DeletePageDialog } from './page-dialogs';
import { FoundPages } from './found-pages';
import { MoveDialog } from './move-dialog';
import { groupByParent } from './page-tree';
import { NoPages, PageTree } from './tree-view';

const STATUSES = ['draft', 'scheduled', 'published', 'archived'] as const;

/** The screen. */
export default function Pages() {
  const [q] = useParameter('q');
  const [status] = useChoice('status', STATUSES);
  const createButton = useCan(operations.create_page) && <DialogButton dialog="create" kind="primary">Create page</DialogButton>;
  return (
    <>
      <PageHeader title="Pages" description="The structure of the site, with the drafts." actions={createButton} />
      <RoleNotice rule={operations.create_page}>You can read all pages.</RoleNotice>
      <div class="filters">
        <TextFilter parameter="q" label="Title begins with" />
        <SelectFilter parameter="status" label="Status" choices={STATUSES} />
      </div>
      {q || status ? <FoundPages q={q} status={status} /> : <Tree createButton={createButton} />}
    </>
  );
}

function Tree({ createButton }: { createButton: preact.ComponentChildren }) {
  const siteId = useSiteId();
  const query = useList(['sites', siteId, 'pages', 'tree'], (client, page, options) =>
    client.sites.pages.list(siteId, { ...page, limit: 100 }, options),
  );
  if (query.isPending) return <Loading />;
  if (query.error && query.items.length === 0) return <Failed error={query.error} onRetry={() => query.refetch()} />;
  const levels = groupByParent(query.items);
  return (
    <>
      {query.error && <Stale query={query} />}
      {query.items.length === 0 ? <NoPages action={createButton} /> : <PageTree levels={levels} isComplete={!query.hasNextPage} />}
      {query.hasNextPage && (
        <div class="list-footer">
          <span>The pages of the first level among the oldest {query.items.length} are shown.</span>
          <button type="button" class="button" disabled={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
            {query.isFetchingNextPage ? 'Loading' : 'Load more'}
          </button>
        </div>
      )}
      <Dialogs levels={levels} />
    </>
  );
}

/** The dialog that the address names. */
function Dialogs({ levels }: { levels: ReturnType<typeof groupByParent> }) {
  const { name, id, close } = useDialog();
  if (name === 'create') return <CreatePageDialog levels={levels} parentId={id || null} onClose={close} />;
  if (id && name === 'move') return <MoveDialog levels={levels} pageId={id} onClose={close} />;
  return id && name === 'delete' ? <DeletePageDialog pageId={id} onClose={close} /> : null;
}
