/** The project blocks of a platform, in their order. */

import { operations } from '../../api/access';
import type { Platform, ProjectBlock, ProjectBlocksPatch } from '../../api/client';
import { readItems } from '../../api/lists';
import { useList } from '../../api/queries';
import { linkTo, useDialog } from '../../ui/address';
import { DetailDialog } from '../../ui/dialog';
import { EditPage } from '../../ui/edit-form';
import { ItemInput, ItemsField, SettingsInput } from '../../ui/items-field';
import { PageHeader } from '../../ui/page';
import { useCan, usePlatformId } from '../../ui/place';
import { RoleNotice } from '../../ui/role-notice';
import { Empty } from '../../ui/states';
import { List, type Column } from '../../ui/table';

/** The screen. */
export default function ProjectBlocks() {
  const platformId = usePlatformId();
  const canEdit = useCan(operations.update_project_blocks);
  const { name, id, open, close } = useDialog();
  return (
    <>
      <PageHeader title="Project blocks" description="Parts of your product that the organization arranges itself, such as a showcase. Your front end renders them from their settings." />
      <RoleNotice rule={operations.update_project_blocks}>You can read the blocks.</RoleNotice>
      <EditPage
        canEdit={canEdit}
        recordKey={['platforms', platformId, 'project-blocks']}
        read={(client) => readItems(client.platforms.get(platformId), client.platforms.projectBlocks.list(platformId))}
        toFields={({ items }) => ({ projectBlocks: items })}
        save={(client, changes, options) => client.platforms.projectBlocks.update(platformId, changes as ProjectBlocksPatch, options)}
        changes={[['platforms', platformId]]}
        subject="the project blocks"
        savedText="The project blocks were saved."
      >
        {(values) => (
          <>
            {values.projectBlocks === '[]' && <p class="muted">No blocks yet. Add one with an id that your front end knows.</p>}
            <ItemsField<ProjectBlock> name="projectBlocks" label="Project blocks" noun="block" create={createBlock} nameOf={(block) => block.title ?? block.projectBlockId}>
              {(block, change) => <BlockFields block={block} change={change} onShowOthers={() => open(`platforms:${block.projectBlockId}`)} />}
            </ItemsField>
          </>
        )}
      </EditPage>
      {name === 'platforms' && id && <PlatformsDialog blockId={id} onClose={close} />}
    </>
  );
}

function createBlock(): ProjectBlock {
  return { projectBlockId: `block-${crypto.randomUUID().slice(0, 4)}`, title: null, enabled: true, settings: {} };
}

interface BlockFieldsProps {
  block: ProjectBlock;
  change: (changed: Partial<ProjectBlock>) => void;
  onShowOthers: () => void;
}

function BlockFields({ block, change, onShowOthers }: BlockFieldsProps) {
  return (
    <>
      <div class="item-row">
        <ItemInput label="Id" value={block.projectBlockId} onInput={(projectBlockId) => change({ projectBlockId })} isCode />
        <ItemInput label="Title" value={block.title ?? ''} onInput={(title) => change({ title: title || null })} />
      </div>
      <div class="buttons">
        <label class="choice bare">
          <input type="checkbox" checked={block.enabled} onChange={(event) => change({ enabled: event.currentTarget.checked })} />
          <span>Shown</span>
        </label>
        <button type="button" class="quiet" aria-label={`Platforms with it: ${block.title ?? block.projectBlockId}`} onClick={onShowOthers}>
          Platforms with it
        </button>
      </div>
      <SettingsInput key={block.projectBlockId} value={block.settings} onInput={(settings) => change({ settings: settings as ProjectBlock['settings'] })} />
    </>
  );
}

const COLUMNS: readonly Column<Pick<Platform, 'id' | 'name' | 'slug'>>[] = [
  { title: 'Platform', kind: 'primary', render: (each) => <a href={linkTo(`/p/${each.id}/project-blocks`)}>{each.name}</a> },
  { title: 'Slug', render: (each) => each.slug },
];

function PlatformsDialog({ blockId, onClose }: { blockId: string; onClose: () => void }) {
  const query = useList(['project-blocks', blockId, 'platforms'], (client, page, options) => client.projectBlocks.platforms.list(blockId, page, options));
  return (
    <DetailDialog title={`Platforms with ${blockId}`} onClose={onClose}>
      <List query={query} noun="platform" caption="Platforms" columns={COLUMNS} getKey={(each) => each.id} empty={<Empty title="No platforms">The block is not stored on a platform that you can see.</Empty>} />
    </DetailDialog>
  );
}
