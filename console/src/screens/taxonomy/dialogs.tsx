/** The dialogs of the taxonomy: create, edit, move and delete a category, file things, and create system tags. */

import { useState } from 'preact/hooks';
import type { Node, NodeCreate, NodePatch } from '../../api/client';
import { useList } from '../../api/queries';
import { useDialog, useParameter } from '../../ui/address';
import { DeleteDialog } from '../../ui/delete-dialog';
import { EditDialog } from '../../ui/edit-form';
import { Field, type Values } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';
import { usePlatformId } from '../../ui/place';
import { SelectField } from '../../ui/select-field';
import { AttachDialog, DetachDialog } from './attachment-dialogs';
import { useNode } from './node-panel';

interface NodeDialogProps {
  node: Node;
  onClose: () => void;
}

/** The dialog that the address names. */
export function TaxonomyDialogs() {
  const { name, close: onClose } = useDialog();
  const [nodeId] = useParameter('node');
  if (name === 'system-tags') return <SystemTagsDialog onClose={onClose} />;
  if (nodeId && name) return <NodeDialogs key={nodeId} nodeId={nodeId} />;
  return name === 'create' ? <CreateDialog parent={null} onClose={onClose} /> : null;
}

function NodeDialogs({ nodeId }: { nodeId: string }) {
  const node = useNode(nodeId).data?.data;
  const { name, id, close: onClose } = useDialog();
  if (!node) return null;
  const props = { node, onClose };
  if (name === 'create') return <CreateDialog parent={node} onClose={onClose} />;
  if (name === 'edit') return <EditNodeDialog {...props} />;
  if (name === 'move') return <MoveDialog {...props} />;
  if (name === 'delete') return <DeleteNodeDialog {...props} />;
  if (name === 'attach') return <AttachDialog {...props} />;
  return name === 'detach' && id ? <DetachDialog {...props} attachmentId={id} /> : null;
}

function useTaxonomy() {
  const platformId = usePlatformId();
  return { platformId, changes: [['taxonomy', platformId]] };
}

function CreateDialog({ parent, onClose }: { parent: Node | null; onClose: () => void }) {
  const { platformId, changes } = useTaxonomy();
  const [, setNode] = useParameter('node');
  const toBody = ({ name = '', description }: Values): NodeCreate => ({
    platformId,
    name,
    ...(parent ? { parentId: parent.id } : {}),
    ...(description ? { description } : {}),
  });
  return (
    <FormDialog
      title={parent ? `Create a category below ${parent.name}` : 'Create a category'}
      name="create-node"
      initial={{ name: '', description: '' }}
      submitLabel="Create category"
      call={(client, values, options) => client.taxonomyNodes.create(toBody(values), options)}
      changes={changes}
      doneText={(node) => `${node.name} was created.`}
      onDone={(node) => {
        onClose();
        setNode(node.id);
      }}
      onClose={onClose}
    >
      {() => (
        <>
          <Field name="name" label="Name" required autoComplete="off" />
          <Field name="description" label="Description" type="textarea" />
        </>
      )}
    </FormDialog>
  );
}

/** Return the names in a text with one name on each line. */
function toNames(text: unknown): string[] {
  const lines = String(text ?? '').split('\n');
  return lines.map((line) => line.trim()).filter(Boolean);
}

function EditNodeDialog({ node, onClose }: NodeDialogProps) {
  const { platformId, changes } = useTaxonomy();
  return (
    <EditDialog
      title={`Edit ${node.name}`}
      recordKey={['taxonomy', platformId, node.id]}
      read={(client, options) => client.taxonomyNodes.get(node.id, options)}
      toFields={({ name, slug, description, altLabels, position }: Node) => ({ name, slug, description, altLabels: altLabels.join('\n'), position })}
      save={(client, { altLabels, ...others }, options) => {
        const patch = altLabels === undefined ? others : { ...others, altLabels: toNames(altLabels) };
        return client.taxonomyNodes.update(node.id, patch as NodePatch, options);
      }}
      changes={changes}
      subject={node.name}
      labels={{ altLabels: 'Other names' }}
      savedText={`${node.name} was saved.`}
      onClose={onClose}
    >
      {() => (
        <>
          <Field name="name" label="Name" required />
          {node.kind === 'term' && <Field name="slug" label="Slug" required hint="The last part of the path. The former path continues to lead here." />}
          <Field name="description" label="Description" type="textarea" />
          <Field name="altLabels" label="Other names" type="textarea" hint="One on each line. People find the category under them." />
          <Field name="position" label="Position" type="number" hint="Among its siblings. Empty: after them." />
        </>
      )}
    </EditDialog>
  );
}

/** The categories below which a category can be moved: not itself, and none below it. */
function useParents(node: Node) {
  const platformId = usePlatformId();
  const nodes = useList(['taxonomy', platformId, 'nodes', 'parents'], (client, page, options) =>
    client.platforms.taxonomyNodes.list(platformId, { ...page, kind: 'term' }, options),
  );
  const parents = nodes.items.filter(({ path }) => path !== node.path && !path.startsWith(`${node.path}/`));
  const sorted = parents.toSorted((a, b) => a.path.localeCompare(b.path)).map(({ id, path }) => ({ value: id, label: path }));
  const isListed = node.parentId === null || sorted.some(({ value }) => value === node.parentId);
  const stored = isListed ? [] : [{ value: node.parentId ?? '', label: node.path.split('/').slice(0, -1).join('/') }];
  return { nodes, choices: [{ value: '', label: 'Nothing: a category at the top' }, ...stored, ...sorted] };
}

function MoveDialog({ node, onClose }: NodeDialogProps) {
  const { platformId, changes } = useTaxonomy();
  const { nodes, choices } = useParents(node);
  return (
    <EditDialog
      title={`Move ${node.name}`}
      recordKey={['taxonomy', platformId, node.id, 'place']}
      read={(client, options) => client.taxonomyNodes.get(node.id, options)}
      toFields={({ parentId, position }: Node) => ({ parentId, position })}
      save={(client, changed, options) => client.taxonomyNodes.update(node.id, changed as NodePatch, options)}
      changes={changes}
      subject={node.name}
      labels={{ parentId: 'Below' }}
      savedText={`${node.name} was moved.`}
      onClose={onClose}
    >
      {() => (
        <>
          <SelectField
            name="parentId"
            label="Below"
            choices={choices}
            query={nodes}
            hint="The categories below it move with it. Former paths continue to lead to them."
          />
          <Field name="position" label="Position" type="number" hint="Among its siblings. Empty: after them." />
        </>
      )}
    </EditDialog>
  );
}

const STRATEGIES = [
  { value: '', label: 'Delete it only if nothing is below it' },
  { value: 'reparent', label: 'Move the categories below it up one level' },
  { value: 'cascade', label: 'Delete all categories below it, too' },
] as const;

function DeleteNodeDialog({ node, onClose }: NodeDialogProps) {
  const { changes } = useTaxonomy();
  const [strategy, setStrategy] = useState<(typeof STRATEGIES)[number]['value']>('');
  const [, setNode] = useParameter('node');
  const etag = useNode(node.id).data?.etag ?? null;
  return (
    <DeleteDialog
      name={node.name}
      call={(client) => client.taxonomyNodes.delete(node.id, strategy ? { strategy } : {}, { ifMatch: etag })}
      changes={changes.map((key) => [...key, 'tree'])}
      onDone={() => {
        onClose();
        setNode(null);
      }}
      onClose={onClose}
    >
      <p>What is filed under it stays, and is no longer filed here.</p>
      <fieldset class="choices">
        <legend class="hidden-visually">What happens to the categories below it</legend>
        {STRATEGIES.map(({ value, label }) => (
          <label key={value} class="choice">
            <input type="radio" name="strategy" checked={strategy === value} onChange={() => setStrategy(value)} />
            <span>{label}</span>
          </label>
        ))}
      </fieldset>
    </DeleteDialog>
  );
}

const DEFAULT_TAGS = 'featured\npinned\nofficial\narchived';

function SystemTagsDialog({ onClose }: { onClose: () => void }) {
  const { platformId, changes } = useTaxonomy();
  const toBody = ({ tags }: Values) => ({ tags: toNames(tags) });
  return (
    <FormDialog
      title="Create system tags"
      name="system-tags"
      initial={{ tags: DEFAULT_TAGS }}
      submitLabel="Create tags"
      call={(client, values, options) => client.platforms.taxonomyNodes.createSystemTags(platformId, toBody(values), options)}
      changes={changes}
      doneText={({ created }) => created === 0 ? 'All of these tags existed.' : `${created} ${created === 1 ? 'tag was' : 'tags were'} created.`}
      onClose={onClose}
    >
      {() => <Field name="tags" label="Slugs" type="textarea" required hint="One on each line. Your front end relies on these tags, so they cannot be moved or deleted. Tags that exist are not changed." />}
    </FormDialog>
  );
}
