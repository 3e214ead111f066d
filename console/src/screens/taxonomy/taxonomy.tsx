/** The taxonomy of a platform: a tree of categories, one level per request, and the category that is selected. */

import { useState } from 'preact/hooks';
import { operations } from '../../api/access';
import type { Branch, Client, Node, ReadOptions } from '../../api/client';
import { useList, useRecord } from '../../api/queries';
import { linkTo, useParameter } from '../../ui/address';
import { DialogButton, DialogButtons } from '../../ui/dialog-buttons';
import { PageHeader } from '../../ui/page';
import { useCan, usePlatformId } from '../../ui/place';
import { RoleNotice } from '../../ui/role-notice';
import { Empty, Failed } from '../../ui/states';
import { List, RecordView, type Column } from '../../ui/table';
import { TreeItem, TreeLevel } from '../../ui/tree';
import { TaxonomyDialogs } from './dialogs';
import { NodePanel } from './node-panel';

/** The screen. */
export default function Taxonomy() {
  const [nodeId] = useParameter('node');
  const [query] = useParameter('q');
  const actions = [
    { dialog: 'system-tags', text: 'System tags', isShown: useCan(operations.create_system_tags) },
    { dialog: 'create', text: 'Create category', kind: 'primary' as const, isShown: useCan(operations.create_taxonomy_node) },
  ];
  return (
    <>
      <PageHeader title="Taxonomy" description="Categories under which spaces, pages and other things are filed." actions={<DialogButtons actions={actions} />} />
      <RoleNotice rule={operations.create_taxonomy_node}>You can read the taxonomy.</RoleNotice>
      <Search />
      <div class={nodeId ? 'tree-and-panel' : ''}>
        {query ? <Results query={query} /> : <Roots />}
        {nodeId && <NodePanel key={nodeId} nodeId={nodeId} />}
      </div>
      <TaxonomyDialogs />
    </>
  );
}

function Search() {
  const [query, setQuery] = useParameter('q');
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const field = (event.currentTarget as HTMLFormElement).elements.namedItem('q') as HTMLInputElement;
    setQuery(field.value.trim() || null);
  };
  return (
    <form class="filters" role="search" onSubmit={submit}>
      <label>
        Beginning of a name, or a path
        <input key={query} name="q" type="search" defaultValue={query ?? ''} placeholder="rivers/arrel" />
      </label>
      <button type="submit" class="button">
        Search
      </button>
      {query && (
        <button type="button" class="quiet" onClick={() => setQuery(null)}>
          Show the tree
        </button>
      )}
    </form>
  );
}

/** Two levels are read, so that a level knows which of its nodes have others below them. */
function readLevel(client: Client, platformId: string, parentId: string | null, options: ReadOptions) {
  const query = parentId ? { rootId: parentId, depth: 3 } : { depth: 2 };
  return client.platforms.taxonomyNodes.getTree(platformId, query, options);
}

function Roots() {
  const platformId = usePlatformId();
  const canCreate = useCan(operations.create_taxonomy_node);
  const level = useRecord(['taxonomy', platformId, 'tree', null], (client, options) => readLevel(client, platformId, null, options));
  return (
    <RecordView query={level}>
      {({ items }) =>
        items.length > 0 ? (
          <Level label="Categories" branches={items} />
        ) : (
          <Empty title="No categories yet" action={canCreate && <DialogButton dialog="create" kind="primary">Create category</DialogButton>}>A category such as “Rivers” can have others below it, at most ten levels deep. Spaces and pages are then filed under them.</Empty>
        )
      }
    </RecordView>
  );
}

function ChildLevel({ parent }: { parent: Branch }) {
  const platformId = usePlatformId();
  const level = useRecord(['taxonomy', platformId, 'tree', parent.id], (client, options) => readLevel(client, platformId, parent.id, options));
  if (level.error && !level.data) return <Failed error={level.error} onRetry={() => level.refetch()} />;
  if (!level.data) return <p class="muted small tree-loading">Loading</p>;
  return <Level label={`Below ${parent.name}`} branches={level.data.data.items[0]?.children ?? []} />;
}

function Level({ label, branches }: { label: string; branches: readonly Branch[] }) {
  return (
    <TreeLevel label={label}>
      {branches.map((branch) => (
        <LevelItem key={branch.id} branch={branch} />
      ))}
    </TreeLevel>
  );
}

function LevelItem({ branch }: { branch: Branch }) {
  const [isOpen, setIsOpen] = useState(false);
  const toggle = branch.children.length > 0 ? () => setIsOpen(!isOpen) : undefined;
  return (
    <TreeItem name={branch.name} isOpen={isOpen} onToggle={toggle} row={<NodeLink node={branch} />}>
      <ChildLevel parent={branch} />
    </TreeItem>
  );
}

function NodeLink({ node }: { node: Pick<Node, 'id' | 'name' | 'kind'> }) {
  const platformId = usePlatformId();
  const [current] = useParameter('node');
  const [q] = useParameter('q');
  return (
    <a class="tree-link" href={linkTo(`/p/${platformId}/taxonomy`, { q, node: node.id })} aria-current={current === node.id ? 'true' : undefined}>
      {node.name}
      {node.kind === 'system' && <span class="muted small"> System tag</span>}
    </a>
  );
}

const COLUMNS: readonly Column<Node>[] = [
  { title: 'Name', kind: 'primary', render: (each) => <NodeLink node={each} /> },
  { title: 'Path', render: (each) => <code class="record-value">{each.path}</code> },
];

function Results({ query }: { query: string }) {
  return query.includes('/') ? <ResultOfPath path={query} /> : <ResultsOfName query={query} />;
}

function ResultsOfName({ query }: { query: string }) {
  const platformId = usePlatformId();
  const found = useList(['taxonomy', platformId, 'search', { query }], (client, page, options) =>
    client.platforms.taxonomyNodes.list(platformId, { ...page, q: query }, options),
  );
  const empty = <Empty title="Nothing found">No name of a category begins with “{query}”.</Empty>;
  return <List query={found} noun="category" caption="Categories found" columns={COLUMNS} getKey={(each) => each.id} empty={empty} />;
}

function ResultOfPath({ path }: { path: string }) {
  const platformId = usePlatformId();
  const found = useRecord(['taxonomy', platformId, 'path', path], (client, options) =>
    client.platforms.taxonomyNodes.resolve(platformId, { path: path.replace(/^\/+|\/+$/g, '') }, options),
  );
  return (
    <RecordView query={found}>
      {({ node, matchedBy }) => (
        <p>
          <NodeLink node={node} /> <code>{node.path}</code> {matchedBy === 'formerPath' && <span class="muted">The path is a former one.</span>}
        </p>
      )}
    </RecordView>
  );
}
