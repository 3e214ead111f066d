/** The modules of a platform: which are on, and which of them spaces can change. */

import { operations } from '../../api/access';
import type { ModulesPatch, UpdatedModuleListItem as Module } from '../../api/client';
import { readItems } from '../../api/lists';
import { actionsColumn, DialogButton } from '../../ui/dialog-buttons';
import { EditPage } from '../../ui/edit-form';
import { useField } from '../../ui/form';
import type { Fields } from '../../ui/merge';
import { PageHeader } from '../../ui/page';
import { useCan, usePlatformId } from '../../ui/place';
import { RoleNotice } from '../../ui/role-notice';
import { Table, type Column } from '../../ui/table';
import { ModuleDialogs } from './dialogs';

type Switches = Pick<Module, 'enabled' | 'locked'>;

/** Return the patch for the modules of which the switches changed. */
function toPatch(changes: Fields): ModulesPatch {
  return { modules: Object.entries(changes).map(([moduleId, switches]) => ({ moduleId, ...(switches as Switches) })) };
}

/** The screen. */
export default function ModulesScreen() {
  const platformId = usePlatformId();
  const canEdit = useCan(operations.update_platform_modules);
  const addButton = canEdit && <DialogButton dialog="add">Add module</DialogButton>;
  return (
    <>
      <PageHeader
        title="Modules"
        description="Parts of your product that are on or off. Spaces inherit what you choose here, and can override it unless the module is locked."
        actions={addButton}
      />
      <RoleNotice rule={operations.update_platform_modules}>You can read the modules.</RoleNotice>
      <EditPage
        canEdit={canEdit}
        recordKey={['platforms', platformId, 'modules']}
        read={(client) => readItems(client.platforms.get(platformId), client.platforms.modules.list(platformId))}
        toFields={({ items }) => Object.fromEntries(items.map(({ moduleId, enabled, locked }) => [moduleId, { enabled, locked }]))}
        save={(client, changes, options) => client.platforms.modules.update(platformId, toPatch(changes), options)}
        changes={[['platforms', platformId], ['spaces']]}
        subject="the modules"
        savedText="The modules were saved."
      >
        {(_, { items }) => <Table caption="Modules" columns={canEdit ? [...COLUMNS, ACTIONS] : COLUMNS} items={items} getKey={(each) => each.moduleId} />}
      </EditPage>
      <ModuleDialogs />
    </>
  );
}

const COLUMNS: readonly Column<Module>[] = [
  {
    title: 'Module',
    kind: 'primary',
    render: (each) => (
      <>
        {each.name}
        <span class="sub">
          {each.moduleId}
          {each.dependsOn.length > 0 && `, needs ${each.dependsOn.join(', ')}`}
        </span>
      </>
    ),
  },
  { title: 'On', render: (each) => <Switch module={each} name="enabled" label={`On: ${each.name}`} /> },
  { title: 'Locked', render: (each) => <Switch module={each} name="locked" label={`Locked: ${each.name}`} /> },
  { title: 'In spaces', render: (each) => <Inheritance module={each} /> },
  { title: 'From', render: (each) => (each.source === 'platform' ? 'This platform' : 'The defaults') },
];

const ACTIONS = actionsColumn<Module>(({ moduleId, name, source }) => ({
  id: moduleId,
  name,
  actions: [
    { dialog: 'settings', text: 'Settings' },
    { dialog: 'reset', text: 'Reset', kind: 'danger', isShown: source === 'platform' },
  ],
}));

function useSwitches(moduleId: string) {
  const { value, setValue } = useField(moduleId, false);
  return { switches: JSON.parse(value || '{}') as Switches, change: (switches: Switches) => setValue(JSON.stringify(switches)) };
}

function Switch({ module, name, label }: { module: Module; name: keyof Switches; label: string }) {
  const { switches, change } = useSwitches(module.moduleId);
  return (
    <input
      type="checkbox"
      role="switch"
      aria-label={label}
      checked={switches[name]}
      onChange={(event) => change({ ...switches, [name]: event.currentTarget.checked })}
    />
  );
}

/** What the switches mean for spaces. */
function Inheritance({ module }: { module: Module }) {
  const { enabled, locked } = useSwitches(module.moduleId).switches;
  const state = enabled ? 'On' : 'Off';
  return <>{locked ? `${state} in all` : `${state}, unless overridden`}</>;
}
