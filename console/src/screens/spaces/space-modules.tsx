/** The modules of a space: their state, where it comes from, and the overrides of the space. */

import { operations } from '../../api/access';
import type { Client, EffectiveModule, OverridesPut, OverrideWithEffect } from '../../api/client';
import { readItems } from '../../api/lists';
import { useList } from '../../api/queries';
import { ActionDialog } from '../../ui/action-dialog';
import { useDialog } from '../../ui/address';
import { actionsColumn, DialogButton } from '../../ui/dialog-buttons';
import { EditDialog } from '../../ui/edit-form';
import { ChoiceField } from '../../ui/form';
import { JsonField } from '../../ui/json-field';
import { useCan, useSpaceId } from '../../ui/place';
import { RoleNotice } from '../../ui/role-notice';
import { Empty } from '../../ui/states';
import { Status, toWords } from '../../ui/status';
import { List, type Column } from '../../ui/table';
import { SpaceFrame } from './space-frame';

const SOURCES: Record<EffectiveModule['source'], string> = {
  system: 'The defaults',
  platform: 'The platform',
  space: 'This space',
  dependency: 'A module that it needs',
};

/** Return what keeps an override from applying, for people. */
function describeBlock(reason: string): string {
  if (reason === 'locked') return 'The platform has locked it';
  return reason === 'unknown_module' ? 'The platform does not have it' : `Needs ${toWords(reason).toLowerCase()}`;
}

const COLUMNS: readonly Column<EffectiveModule>[] = [
  { title: 'Module', kind: 'primary', render: (each) => each.moduleId },
  { title: 'Status', render: (each) => <Status tone={each.enabled ? 'good' : 'neutral'}>{each.enabled ? 'On' : 'Off'}</Status> },
  { title: 'Decided by', render: (each) => `${SOURCES[each.source]}${each.locked ? ', locked' : ''}` },
];

/** The screen. */
export default function SpaceModules() {
  const spaceId = useSpaceId();
  const effective = useList(['spaces', spaceId, 'effective-modules'], (client, page, options) => client.spaces.effectiveModules.list(spaceId, page, options));
  const overrides = useList(['spaces', spaceId, 'module-overrides'], (client, page, options) => client.spaces.moduleOverrides.list(spaceId, page, options));
  const columns = useColumns(overrides.items);
  return (
    <SpaceFrame actions={<Actions isOverriding={overrides.items.length > 0} />}>
      {() => (
        <>
          <RoleNotice rule={operations.replace_module_overrides}>You can read the modules.</RoleNotice>
          <List
            query={effective}
            noun="module"
            columns={columns}
            getKey={(each) => each.moduleId}
            empty={<Empty title="No modules">The platform has no modules that a space could override.</Empty>}
          />
          <Dialogs modules={effective.items} />
        </>
      )}
    </SpaceFrame>
  );
}

function Actions({ isOverriding }: { isOverriding: boolean }) {
  const canReplace = useCan(operations.replace_module_overrides);
  if (!canReplace || !isOverriding) return null;
  return <DialogButton dialog="inherit-all">Inherit all</DialogButton>;
}

function useColumns(overrides: readonly OverrideWithEffect[]): readonly Column<EffectiveModule>[] {
  const canSet = useCan(operations.set_module_override);
  const overrideOf = ({ moduleId }: EffectiveModule) => overrides.find((each) => each.moduleId === moduleId);
  const override: Column<EffectiveModule> = {
    title: 'Override',
    render: (each) => <Override override={overrideOf(each)} />,
  };
  const actions = actionsColumn<EffectiveModule>((each) => ({
    id: each.moduleId,
    name: each.moduleId,
    actions: [
      { dialog: 'override', text: overrideOf(each) ? 'Edit' : 'Override' },
      { dialog: 'inherit', text: 'Inherit', kind: 'danger', isShown: overrideOf(each) !== undefined },
    ],
  }));
  return canSet ? [...COLUMNS, override, actions] : [...COLUMNS, override];
}

function Override({ override }: { override: OverrideWithEffect | undefined }) {
  if (!override) return <span class="muted">None</span>;
  return (
    <>
      {override.enabled ? 'On' : 'Off'}
      {Object.keys(override.settings).length > 0 && ', with settings'}
      {override.effective.blockedBy.length > 0 && <span class="sub">No effect: {override.effective.blockedBy.map(describeBlock).join(', ')}</span>}
    </>
  );
}

function Dialogs({ modules }: { modules: readonly EffectiveModule[] }) {
  const { name, id, close: onClose } = useDialog();
  if (name === 'inherit-all') return <InheritDialog onClose={onClose} />;
  const found = modules.find((each) => each.moduleId === id);
  if (!found) return null;
  if (name === 'override') return <OverrideDialog module={found} onClose={onClose} />;
  return name === 'inherit' ? <InheritDialog moduleId={found.moduleId} onClose={onClose} /> : null;
}

const toBody = ({ moduleId, enabled, settings }: OverridesPut['overrides'][number]) => ({ moduleId, enabled, settings });

const CHOICES = [
  { value: 'inherit', label: 'Inherit', hint: 'As on the platform.' },
  { value: 'on', label: 'On' },
  { value: 'off', label: 'Off' },
];

function OverrideDialog({ module, onClose }: { module: EffectiveModule; onClose: () => void }) {
  const spaceId = useSpaceId();
  const { moduleId, locked } = module;
  const stateOf = ({ items }: { items: OverrideWithEffect[] }) => {
    const found = items.find((each) => each.moduleId === moduleId);
    return { state: found ? (found.enabled ? 'on' : 'off') : 'inherit', settings: found?.settings ?? {} };
  };
  return (
    <EditDialog
      title={`Override ${moduleId}`}
      recordKey={['spaces', spaceId, 'module-overrides', moduleId]}
      read={(client) => readItems(client.spaces.get(spaceId), client.spaces.moduleOverrides.list(spaceId))}
      toFields={stateOf}
      save={(client, changes, options, record) => {
        const { state, settings } = { ...stateOf(record), ...changes };
        const others = record.items.filter((each) => each.moduleId !== moduleId);
        const own = state === 'inherit' ? [] : [{ moduleId, enabled: state === 'on', settings }];
        return client.spaces.moduleOverrides.replace(spaceId, { overrides: [...others, ...own].map(toBody) } as OverridesPut, options);
      }}
      changes={[['spaces', spaceId]]}
      subject={moduleId}
      savedText={`The override of ${moduleId} was saved.`}
      onClose={onClose}
    >
      {(values) => (
        <>
          {locked && <p class="notice warning">The platform has locked this module, so an override has no effect until it is unlocked.</p>}
          <ChoiceField name="state" label="In this space" choices={CHOICES} />
          {values.state !== 'inherit' && <JsonField name="settings" label="Settings" hint="Merged with those of the platform." />}
        </>
      )}
    </EditDialog>
  );
}

function InheritDialog({ moduleId, onClose }: { moduleId?: string; onClose: () => void }) {
  const spaceId = useSpaceId();
  const call = (client: Client): PromiseLike<unknown> =>
    moduleId ? client.spaces.moduleOverrides.remove(spaceId, moduleId) : client.spaces.moduleOverrides.replace(spaceId, { overrides: [] });
  return (
    <ActionDialog
      title={moduleId ? `Inherit ${moduleId}?` : 'Inherit all modules?'}
      confirmLabel="Inherit"
      call={call}
      changes={[['spaces', spaceId]]}
      doneText={moduleId ? `${moduleId} is inherited again.` : 'All modules are inherited again.'}
      onClose={onClose}
    >
      <p>{moduleId ? 'The override and its settings are deleted.' : 'All overrides of this space and their settings are deleted.'} The platform decides again.</p>
    </ActionDialog>
  );
}
