/** The tree of pages. A branch that is not loaded yet is read when it is opened. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { operations } from '../../api/access';
import type { PageSummary } from '../../api/client';
import { useList } from '../../api/queries';
import { linkTo } from '../../ui/address';
import { RowActions } from '../../ui/dialog-buttons';
import { useCan, useSiteId } from '../../ui/place';
import { Empty, Failed, Loading } from '../../ui/states';
import { TreeItem, TreeLevel } from '../../ui/tree';
import { PageStatus } from './page-status';
import { groupByParent, type Levels } from './page-tree';

interface PageTreeProps {
  levels: Levels;
  /** Whether all pages are loaded. */
  isComplete: boolean;
}

/** What is shown for a site without pages. */
export function NoPages({ action }: { action: ComponentChildren }) {
  return (
    <Empty title="No pages yet" action={action}>
      A page consists of blocks, such as headings, texts and images. The first page becomes the home page. Visitors see a page
      after you publish it.
    </Empty>
  );
}

/** The tree. */
export function PageTree({ levels, isComplete }: PageTreeProps) {
  return (
    <TreeLevel label="Pages">
      {(levels.get(null) ?? []).map((page) => (
        <Branch key={page.id} page={page} levels={levels} isComplete={isComplete} />
      ))}
    </TreeLevel>
  );
}

function Branch({ page, levels, isComplete }: PageTreeProps & { page: PageSummary }) {
  // A small site is shown open, so that people see its structure.
  const [isOpen, setIsOpen] = useState(isComplete);
  const below = levels.get(page.id) ?? [];
  const canOpen = !isComplete || below.length > 0;
  return (
    <TreeItem name={page.title} isOpen={isOpen && canOpen} onToggle={canOpen ? () => setIsOpen(!isOpen) : undefined} row={<Row page={page} />}>
      {isComplete ? (
        <TreeLevel label={`Below ${page.title}`}>
          {below.map((each) => (
            <Branch key={each.id} page={each} levels={levels} isComplete />
          ))}
        </TreeLevel>
      ) : (
        <LoadedLevel parent={page} />
      )}
    </TreeItem>
  );
}

/** The pages below one, which are read now. */
function LoadedLevel({ parent }: { parent: PageSummary }) {
  const siteId = useSiteId();
  const query = useList(['sites', siteId, 'pages', 'below', parent.id], (client, page, options) =>
    client.sites.pages.list(siteId, { ...page, parentId: parent.id, limit: 100 }, options),
  );
  if (query.isPending) return <Loading lines={1} />;
  if (query.error) return <Failed error={query.error} onRetry={() => query.refetch()} />;
  if (query.items.length === 0) return <p class="muted small tree-note">No pages below it</p>;
  const levels = groupByParent(query.items);
  return (
    <TreeLevel label={`Below ${parent.title}`}>
      {query.items.map((page) => (
        <Branch key={page.id} page={page} levels={levels} isComplete={false} />
      ))}
      {query.hasNextPage && (
        <li>
          <button type="button" class="quiet" onClick={() => query.fetchNextPage()}>
            Load more below {parent.title}
          </button>
        </li>
      )}
    </TreeLevel>
  );
}

const ACTIONS = [
  { dialog: 'create', text: 'Add below' },
  { dialog: 'move', text: 'Move' },
  { dialog: 'delete', text: 'Delete', kind: 'danger' },
] as const;

function Row({ page }: { page: PageSummary }) {
  const canEdit = useCan(operations.update_page);
  return (
    <>
      <span class="tree-name">
        <a href={linkTo(`/s/${page.siteId}/pages/${page.id}`)}>{page.title}</a>
        <span class="small muted truncate">{page.isHome ? 'Home page' : page.path}</span>
      </span>
      <span class="tree-status small">
        <PageStatus page={page} />
      </span>
      {canEdit && (
        <span class="tree-actions">
          <RowActions id={page.id} name={page.title} actions={ACTIONS} />
        </span>
      )}
    </>
  );
}
