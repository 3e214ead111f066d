/** The revisions of a page: who changed it and when. Two of them can be compared. */

import { useState } from 'preact/hooks';
import { useParams } from 'wouter-preact';
import { nameIn } from '../../api/names';
import { operations } from '../../api/access';
import type { Page, RevisionSummary } from '../../api/client';
import { useList, useRecord } from '../../api/queries';
import { linkTo, useDialog, useParameter } from '../../ui/address';
import { RowActions } from '../../ui/dialog-buttons';
import { lazy } from '../../ui/lazy';
import { BackLink, PageHeader } from '../../ui/page';
import { useCan, useSiteId } from '../../ui/place';
import { RoleNotice } from '../../ui/role-notice';
import { Empty, Loading } from '../../ui/states';
import { Status } from '../../ui/status';
import { List, RecordView, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { PreviewDialog } from './preview-dialogs';
import { PublishRevisionDialog, RestoreDialog } from './revision-dialogs';

const Comparison = lazy(() => import('./comparison'), <Loading />);

/** The screen. */
export default function Revisions() {
  const siteId = useSiteId();
  const { page: pageId = '' } = useParams<{ page: string }>();
  const [from] = useParameter('from');
  const [to] = useParameter('to');
  const path = `/s/${siteId}/pages/${pageId}`;
  if (from && to) {
    return (
      <>
        <BackLink path={`${path}/revisions`}>Revisions</BackLink>
        <PageHeader title="Comparison" description="What changed between two revisions of the page." />
        <Comparison pageId={pageId} fromId={from} toId={to} />
      </>
    );
  }
  return <RevisionList pageId={pageId} path={path} />;
}

function RevisionList({ pageId, path }: { pageId: string; path: string }) {
  const siteId = useSiteId();
  const page = useRecord(['sites', siteId, 'pages', pageId], (client, options) => client.sites.pages.get(siteId, pageId, options));
  return (
    <>
      <BackLink path={path}>{page.data?.data.title ?? 'Page'}</BackLink>
      <PageHeader title="Revisions" description="The versions of the page. Each change of its content made one, and none is lost." />
      <RoleNotice rule={operations.restore_page_revision}>You can read, compare and preview revisions.</RoleNotice>
      <RecordView query={page}>{(data) => <RevisionTable page={data} etag={page.data?.etag ?? null} path={path} />}</RecordView>
    </>
  );
}

function RevisionTable({ page, etag, path }: { page: Page; etag: string | null; path: string }) {
  const query = useList(['sites', page.siteId, 'pages', page.id, 'revisions'], (client, each, options) =>
    client.sites.pages.revisions.list(page.siteId, page.id, { ...each, include: 'names' }, options),
  );
  const [chosen, setChosen] = useState<Partial<Sides>>({});
  const published = query.items.find((each) => each.id === page.publishedRevisionId && each.id !== page.draftRevisionId);
  const from = chosen.from ?? (published ?? query.items[1])?.id ?? null;
  const to = chosen.to ?? query.items[0]?.id ?? null;
  const sides = { from, to };
  const nameOf = (id: string | null) => nameIn(query, id);
  const columns = [...createColumns(page, nameOf), ...createChoices(sides, setChosen), createActions(page)];
  return (
    <>
      {query.items.length > 1 && (
        <p class="filters">
          <a class="button" href={linkTo(`${path}/revisions`, sides)}>
            Compare
          </a>
        </p>
      )}
      <List
        query={query}
        noun="revision"
        columns={columns}
        getKey={(each) => each.id}
        empty={<Empty title="No revisions">A page has at least the revision that created it.</Empty>}
      />
      <Dialogs page={page} etag={etag} revisions={query.items} />
    </>
  );
}

function createColumns(page: Page, nameOf: (id: string | null) => string): Column<RevisionSummary>[] {
  return [
    {
      title: 'Title',
      kind: 'primary',
      render: (each) => (
        <>
          {each.title}
          <span class="sub">By {nameOf(each.createdBy)}</span>
        </>
      ),
    },
    { title: 'Status', render: (each) => <State revision={each} page={page} /> },
    { title: 'Created', kind: 'time', render: (each) => <Time value={each.createdAt} /> },
  ];
}

type Sides = Record<'from' | 'to', string | null>;

/** The columns that choose what is compared. */
function createChoices(sides: Sides, onChoose: (sides: Sides) => void): Column<RevisionSummary>[] {
  return (['from', 'to'] as const).map((side) => ({
    title: side === 'from' ? 'From' : 'To',
    render: (each) => (
      <input
        type="radio"
        name={side}
        aria-label={`Compare ${side} the revision of ${each.createdAt}`}
        checked={sides[side] === each.id}
        onChange={() => onChoose({ ...sides, [side]: each.id })}
      />
    ),
  }));
}

function createActions(page: Page): Column<RevisionSummary> {
  return { title: 'Actions', kind: 'actions', render: (each) => <Actions revision={each} page={page} /> };
}

function State({ revision, page }: { revision: RevisionSummary; page: Page }) {
  const isDraft = revision.id === page.draftRevisionId;
  const isPublished = revision.id === page.publishedRevisionId && page.status === 'published';
  return (
    <>
      {isPublished && <Status tone="good">{isDraft ? 'Published, and the draft' : 'Published'}</Status>}
      {isDraft && !isPublished && <Status tone="neutral">Draft</Status>}
      {!isDraft && !isPublished && <span class="muted">Former</span>}
      {revision.restoredFrom && <span class="sub">Restored</span>}
    </>
  );
}

function Actions({ revision, page }: { revision: RevisionSummary; page: Page }) {
  const canRestore = useCan(operations.restore_page_revision);
  const actions = [
    { dialog: 'preview', text: 'Preview' },
    { dialog: 'restore', text: 'Restore', isShown: canRestore && revision.id !== page.draftRevisionId },
    { dialog: 'publish', text: 'Publish', isShown: canRestore && (revision.id !== page.publishedRevisionId || page.status !== 'published') },
  ];
  return <RowActions id={revision.id} name={`the revision of ${revision.createdAt}`} actions={actions} />;
}

interface DialogsProps {
  page: Page;
  etag: string | null;
  revisions: readonly RevisionSummary[];
}

/** The dialog that the address names. */
function Dialogs({ page, etag, revisions }: DialogsProps) {
  const { name, id, close } = useDialog();
  const revision = revisions.find((each) => each.id === id);
  if (!revision) return null;
  const shared = { page, etag, revision, onClose: close };
  if (name === 'preview') return <PreviewDialog page={page} revisionId={revision.id} onClose={close} />;
  if (name === 'restore') return <RestoreDialog {...shared} />;
  return name === 'publish' ? <PublishRevisionDialog {...shared} /> : null;
}
