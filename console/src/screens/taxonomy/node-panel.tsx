/** The category that is selected: what it is called, and what is filed under it. */

import { operations } from '../../api/access';
import type { Attachment, Node } from '../../api/client';
import { useList, useRecord } from '../../api/queries';
import { linkTo } from '../../ui/address';
import { Details } from '../../ui/details';
import { actionsColumn, DialogButton, DialogButtons } from '../../ui/dialog-buttons';
import { Section } from '../../ui/page';
import { useCan, usePlatformId } from '../../ui/place';
import { toWords } from '../../ui/status';
import { List, RecordView, type Column } from '../../ui/table';

/** Read a node. */
export function useNode(nodeId: string) {
  const platformId = usePlatformId();
  return useRecord(['taxonomy', platformId, 'nodes', nodeId], (client, options) => client.taxonomyNodes.get(nodeId, options));
}

/** Read what is filed under a node. */
export function useAttachments(nodeId: string) {
  const platformId = usePlatformId();
  return useList(['taxonomy', platformId, 'nodes', nodeId, 'attachments'], (client, page, options) =>
    client.taxonomyNodes.attachments.list(nodeId, page, options),
  );
}

/** The panel beside the tree. */
export function NodePanel({ nodeId }: { nodeId: string }) {
  return (
    <section class="panel" aria-label="Selected category">
      <RecordView query={useNode(nodeId)}>
        {(node) => (
          <>
            <NodeFacts node={node} />
            <Attachments node={node} />
          </>
        )}
      </RecordView>
    </section>
  );
}

function NodeFacts({ node }: { node: Node }) {
  return (
    <>
      <h2>{node.name}</h2>
      {node.description && <p class="muted">{node.description}</p>}
      <NodeActions node={node} />
      <Details
        items={[
          ['Path', <code class="record-value">{node.path}</code>],
          ['Other names', node.altLabels.join(', ') || <span class="muted">None</span>],
          ['Position', node.position],
          ['Kind', node.kind === 'system' && 'System tag, on which your front end relies'],
        ]}
      />
    </>
  );
}

function NodeActions({ node }: { node: Node }) {
  const canUpdate = useCan(operations.update_taxonomy_node);
  if (!canUpdate) return null;
  const isTerm = node.kind === 'term';
  const actions = [
    { dialog: 'edit', text: 'Edit' },
    { dialog: 'move', text: 'Move', isShown: isTerm },
    { dialog: 'create', text: 'Create below', isShown: isTerm },
    { dialog: 'delete', text: 'Delete', kind: 'danger' as const, isShown: isTerm },
  ];
  return (
    <div class="buttons">
      <DialogButtons actions={actions} />
    </div>
  );
}

const LINKS: Record<string, (attachment: Attachment) => string> = {
  space: ({ platformId, entityId }) => linkTo(`/p/${platformId}/spaces/${entityId}`),
  platform: ({ entityId }) => linkTo(`/p/${entityId}`),
  site: ({ entityId }) => linkTo(`/s/${entityId}`),
};

function Attachments({ node }: { node: Node }) {
  const canAttach = useCan(operations.attach_taxonomy_node);
  const columns = useColumns();
  const attachButton = canAttach && <DialogButton dialog="attach">File something</DialogButton>;
  return (
    <Section title="Filed here" actions={attachButton}>
      <List
        query={useAttachments(node.id)}
        noun="entry"
        caption="Filed here"
        columns={columns}
        getKey={(each) => each.id}
        empty={<p class="muted">Nothing is filed under this category.</p>}
      />
    </Section>
  );
}

function useColumns(): readonly Column<Attachment>[] {
  const platformId = usePlatformId();
  const canDetach = useCan(operations.detach_taxonomy_node);
  const spaces = useList(['platforms', platformId, 'spaces'], (client, page, options) => client.platforms.spaces.list(platformId, page, options));
  const nameOf = ({ entityId }: Attachment) => spaces.items.find(({ id }) => id === entityId)?.name ?? entityId;
  const columns: Column<Attachment>[] = [
    {
      title: 'What',
      kind: 'primary',
      render: (each) => {
        const href = LINKS[each.entityType]?.(each);
        return (
          <>
            {href ? <a href={href}>{nameOf(each)}</a> : <code class="record-value">{each.entityId}</code>}
            <span class="sub">{toWords(each.entityType.replaceAll('-', ' '))}</span>
          </>
        );
      },
    },
  ];
  const actions = actionsColumn<Attachment>((each) => ({
    id: each.id,
    name: nameOf(each),
    actions: [{ dialog: 'detach', text: 'Take out', kind: 'danger' }],
  }));
  return canDetach ? [...columns, actions] : columns;
}
