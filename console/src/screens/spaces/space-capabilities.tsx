/** The capabilities of a space: what a front end offers in it. */

import { operations } from '../../api/access';
import type { Capability, CapabilityCreate } from '../../api/client';
import { readItems } from '../../api/lists';
import { useList } from '../../api/queries';
import { ActionDialog } from '../../ui/action-dialog';
import { useDialog } from '../../ui/address';
import { actionsColumn, DialogButton } from '../../ui/dialog-buttons';
import { EditDialog } from '../../ui/edit-form';
import { parseJsonObject, parseObjectOrNull } from '../../ui/field-values';
import { Field, type Values } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';
import { JsonField } from '../../ui/json-field';
import { useCan, useSpaceId } from '../../ui/place';
import { RoleNotice } from '../../ui/role-notice';
import { Empty } from '../../ui/states';
import { List, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { SpaceFrame } from './space-frame';

const COLUMNS: readonly Column<Capability>[] = [
  { title: 'Key', kind: 'primary', render: (each) => <code>{each.capabilityKey}</code> },
  { title: 'Settings', render: (each) => (Object.keys(each.settings).length > 0 ? <code class="record-value">{JSON.stringify(each.settings)}</code> : <span class="muted">None</span>) },
  { title: 'Added', kind: 'time', render: (each) => <Time value={each.createdAt} /> },
];

/** The screen. */
export default function SpaceCapabilities() {
  const spaceId = useSpaceId();
  const canAdd = useCan(operations.add_space_capability);
  const canChange = useCan(operations.replace_space_capabilities);
  const query = useList(['spaces', spaceId, 'capabilities'], (client, page, options) => client.spaces.capabilities.list(spaceId, page, options));
  const addButton = canAdd && <DialogButton dialog="add" kind="primary">Add capability</DialogButton>;
  return (
    <SpaceFrame actions={addButton}>
      {() => (
        <>
          <RoleNotice rule={operations.add_space_capability}>You can read the capabilities.</RoleNotice>
          <List
            query={query}
            noun="capability"
            columns={canChange ? [...COLUMNS, ACTIONS] : COLUMNS}
            getKey={(each) => each.capabilityKey}
            empty={
              <Empty title="No capabilities yet" action={addButton}>
                Your front end reads the capabilities to decide what it offers in this space, such as video calls. You choose the keys.
              </Empty>
            }
          />
          <Dialogs capabilities={query.items} />
        </>
      )}
    </SpaceFrame>
  );
}

const ACTIONS = actionsColumn<Capability>(({ capabilityKey }) => ({
  id: capabilityKey,
  name: capabilityKey,
  actions: [
    { dialog: 'settings', text: 'Settings' },
    { dialog: 'remove', text: 'Remove', kind: 'danger' },
  ],
}));

function Dialogs({ capabilities }: { capabilities: readonly Capability[] }) {
  const { name, id, close: onClose } = useDialog();
  if (name === 'add') return <AddDialog onClose={onClose} />;
  const found = capabilities.find((each) => each.capabilityKey === id);
  if (!found) return null;
  if (name === 'settings') return <SettingsDialog capabilityKey={found.capabilityKey} onClose={onClose} />;
  return name === 'remove' ? <RemoveDialog capabilityKey={found.capabilityKey} onClose={onClose} /> : null;
}

const toBody = ({ capabilityKey = '', settings }: Values): CapabilityCreate => ({ capabilityKey, settings: parseJsonObject(settings) });

function AddDialog({ onClose }: { onClose: () => void }) {
  const spaceId = useSpaceId();
  return (
    <FormDialog
      title="Add a capability"
      name="add-capability"
      initial={{ capabilityKey: '', settings: '{}' }}
      submitLabel="Add capability"
      isDisabled={(values) => parseObjectOrNull(values.settings) === null}
      call={(client, values, options) => client.spaces.capabilities.add(spaceId, toBody(values), options)}
      changes={[['spaces', spaceId]]}
      doneText={({ capabilityKey }) => `${capabilityKey} was added.`}
      onClose={onClose}
    >
      {() => (
        <>
          <Field name="capabilityKey" label="Key" required autoComplete="off" hint="A key that your front end knows, such as video-calls." />
          <JsonField name="settings" label="Settings" />
        </>
      )}
    </FormDialog>
  );
}

interface CapabilityDialogProps {
  capabilityKey: string;
  onClose: () => void;
}

function SettingsDialog({ capabilityKey, onClose }: CapabilityDialogProps) {
  const spaceId = useSpaceId();
  return (
    <EditDialog
      title={`Settings of ${capabilityKey}`}
      recordKey={['spaces', spaceId, 'capabilities', capabilityKey]}
      read={(client) => readItems(client.spaces.get(spaceId), client.spaces.capabilities.list(spaceId))}
      toFields={({ items }) => ({ settings: items.find((each) => each.capabilityKey === capabilityKey)?.settings ?? {} })}
      save={(client, changes, options, { items }) => {
        const capabilities = items.map(({ capabilityKey: key, settings }) => ({ capabilityKey: key, settings, ...(key === capabilityKey && changes) }));
        return client.spaces.capabilities.replace(spaceId, { capabilities }, options);
      }}
      changes={[['spaces', spaceId]]}
      subject={capabilityKey}
      savedText="The settings were saved."
      onClose={onClose}
    >
      {() => <JsonField name="settings" label="Settings" hint="Your front end gives them their meaning." />}
    </EditDialog>
  );
}

function RemoveDialog({ capabilityKey, onClose }: CapabilityDialogProps) {
  const spaceId = useSpaceId();
  return (
    <ActionDialog
      title={`Remove ${capabilityKey}?`}
      confirmLabel="Remove"
      call={(client) => client.spaces.capabilities.remove(spaceId, capabilityKey)}
      changes={[['spaces', spaceId]]}
      doneText={`${capabilityKey} was removed.`}
      onClose={onClose}
    >
      <p>Its settings are deleted with it. To have them again, add the capability again.</p>
    </ActionDialog>
  );
}
