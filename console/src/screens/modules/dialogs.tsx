/** The dialogs that change the settings of a module, reset one, and add one of the platform's own. */

import type { ModulesPatch, UpdatedModuleListItem as Module } from '../../api/client';
import { readItems } from '../../api/lists';
import { ActionDialog } from '../../ui/action-dialog';
import { useDialog } from '../../ui/address';
import { EditDialog } from '../../ui/edit-form';
import { parseJsonObject, parseObjectOrNull, toMergePatch } from '../../ui/field-values';
import { Field, type Values } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';
import { JsonField } from '../../ui/json-field';
import { usePlatformId } from '../../ui/place';

interface ModuleDialogProps {
  moduleId: string;
  onClose: () => void;
}

/** The dialog that the address names. */
export function ModuleDialogs() {
  const { name, id: moduleId, close: onClose } = useDialog();
  if (name === 'add') return <AddDialog onClose={onClose} />;
  if (name === 'settings') return <SettingsDialog moduleId={moduleId} onClose={onClose} />;
  return name === 'reset' ? <ResetDialog moduleId={moduleId} onClose={onClose} /> : null;
}

function useChanges() {
  const platformId = usePlatformId();
  return { platformId, changes: [['platforms', platformId], ['edited', 'platforms', platformId, 'modules'], ['spaces']] };
}

function SettingsDialog({ moduleId, onClose }: ModuleDialogProps) {
  const { platformId, changes } = useChanges();
  const settingsOf = ({ items }: { items: Module[] }) => items.find((each) => each.moduleId === moduleId)?.settings ?? {};
  return (
    <EditDialog
      title={`Settings of ${moduleId}`}
      recordKey={['platforms', platformId, 'modules', moduleId]}
      read={(client) => readItems(client.platforms.get(platformId), client.platforms.modules.list(platformId))}
      toFields={(modules) => ({ settings: settingsOf(modules) })}
      save={(client, { settings }, options, modules) => {
        const patch = toMergePatch(settingsOf(modules), settings) as Record<string, unknown>;
        return client.platforms.modules.update(platformId, { modules: [{ moduleId, settings: patch }] } as ModulesPatch, options);
      }}
      changes={changes}
      subject={moduleId}
      savedText="The settings were saved."
      onClose={onClose}
    >
      {() => <JsonField name="settings" label="Settings" hint="Your front end gives them their meaning. Spaces inherit them." />}
    </EditDialog>
  );
}

function ResetDialog({ moduleId, onClose }: ModuleDialogProps) {
  const { platformId, changes } = useChanges();
  const body: ModulesPatch = { modules: [{ moduleId, enabled: null, locked: null, settings: null }] };
  return (
    <ActionDialog
      title={`Reset ${moduleId}?`}
      confirmLabel="Reset"
      call={(client) => client.platforms.modules.update(platformId, body)}
      changes={changes}
      doneText={`${moduleId} was reset.`}
      onClose={onClose}
    >
      <p>Its switches and settings on this platform are deleted. A module of the catalogue returns to its defaults, and a module of your own disappears.</p>
    </ActionDialog>
  );
}

function toBody({ moduleId = '', settings }: Values): ModulesPatch {
  return { modules: [{ moduleId, enabled: true, settings: parseJsonObject(settings) }] };
}

function AddDialog({ onClose }: { onClose: () => void }) {
  const { platformId, changes } = useChanges();
  return (
    <FormDialog
      title="Add a module"
      name="add-module"
      initial={{ moduleId: '', settings: '{}' }}
      submitLabel="Add module"
      isDisabled={(values) => parseObjectOrNull(values.settings) === null}
      call={(client, values) => client.platforms.modules.update(platformId, toBody(values))}
      changes={changes}
      doneText={({ warnings }, { moduleId }) => warnings[0]?.detail ?? `${moduleId} was added.`}
      onClose={onClose}
    >
      {() => (
        <>
          <Field name="moduleId" label="Id" required autoComplete="off" hint="An id that your front end knows, such as gauge-levels. Ids of the catalogue change that module." />
          <JsonField name="settings" label="Settings" />
        </>
      )}
    </FormDialog>
  );
}
