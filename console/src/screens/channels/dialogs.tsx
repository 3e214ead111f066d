/** The dialogs that create, edit, test and delete a channel. */

import type { Channel, ChannelCreate, ChannelPatch } from '../../api/client';
import { DeleteDialog } from '../../ui/delete-dialog';
import { EditDialog } from '../../ui/edit-form';
import { ALL_EVENTS, EventsField, STATE_FORMATS, StateField, toEventPatterns, withEventPatterns } from '../../ui/events-field';
import { ChoiceField, Field, type Values } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';
import type { Fields } from '../../ui/merge';
import { useOrganizationId } from '../../ui/place';
import { TrialDialog } from '../../ui/trial-dialog';
import { PROVIDERS, providerName } from './providers';

interface ChannelDialogProps {
  channel: Channel;
  onClose: () => void;
}

const INITIAL: Values = { provider: 'slack', name: '', config: '', events: ALL_EVENTS };
const LABELS = { config: 'URL', enabled: 'Status' };

function toBody(values: Values): ChannelCreate {
  return {
    provider: values.provider as Channel['provider'],
    name: values.name ?? '',
    config: { webhookUrl: values.config ?? '' },
    events: toEventPatterns(values),
  };
}

/** Create a channel. */
export function CreateDialog({ onClose }: { onClose: () => void }) {
  const organizationId = useOrganizationId();
  return (
    <FormDialog
      title="Create a channel"
      name="create-channel"
      initial={INITIAL}
      submitLabel="Create"
      call={(client, values, options) => client.organizations.integrationChannels.create(organizationId, toBody(values), options)}
      changes={[['organizations', organizationId, 'channels']]}
      doneText={({ name }) => `${name} was created. Send a test to see whether it works.`}
      onClose={onClose}
    >
      {(values) => <ChannelFields provider={values.provider} />}
    </FormDialog>
  );
}

function ChannelFields({ provider }: { provider: string | undefined }) {
  const source = PROVIDERS.find((each) => each.value === provider)?.source;
  return (
    <>
      <ChoiceField name="provider" label="Provider" choices={PROVIDERS} />
      <Field name="name" label="Name" required autoComplete="off" hint="For example, the name of the chat room." />
      <Field name="config" label="URL for incoming messages" type="url" required autoComplete="off" hint={source} />
      <EventsField />
    </>
  );
}

const FORMATS = { ...STATE_FORMATS, provider: providerName };

/** Return the patch for changed fields of the form. */
function toPatch({ config, ...others }: Fields): ChannelPatch {
  return {
    ...withEventPatterns(others),
    ...(config !== undefined && { config: { webhookUrl: String(config ?? '') } }),
  };
}

/** Edit a channel. */
export function EditChannelDialog({ channel, onClose }: ChannelDialogProps) {
  const organizationId = useOrganizationId();
  return (
    <EditDialog<Channel>
      title={`Edit ${channel.name}`}
      subject={channel.name}
      recordKey={['channels', organizationId, channel.id]}
      read={(client, options) => client.organizations.integrationChannels.get(organizationId, channel.id, options)}
      toFields={({ provider, name, config, events, enabled }) => ({
        provider,
        name,
        config: config.webhookUrl,
        events: events.join('\n'),
        enabled,
      })}
      save={(client, changes, options) =>
        client.organizations.integrationChannels.update(organizationId, channel.id, toPatch(changes), options)
      }
      labels={LABELS}
      formats={FORMATS}
      changes={[['organizations', organizationId, 'channels']]}
      savedText={`${channel.name} was changed.`}
      onClose={onClose}
    >
      {(values) => (
        <>
          <ChannelFields provider={values.provider} />
          <p class="small muted">The URL is secret, so parts of it are masked. It stays as it is unless you replace it.</p>
          <StateField hint="Events that occur meanwhile are not sent." />
        </>
      )}
    </EditDialog>
  );
}

/** Send a test message to a channel. */
export function TestChannelDialog({ channel, onClose }: ChannelDialogProps) {
  const organizationId = useOrganizationId();
  return (
    <TrialDialog
      call={(client, options) => client.organizations.integrationChannels.test(organizationId, channel.id, options)}
      changes={[['organizations', organizationId, 'channels']]}
      onClose={onClose}
    >
      {channel.name} gets a short message. The result appears here within 5 s.
    </TrialDialog>
  );
}

/** Delete a channel. */
export function DeleteChannelDialog({ channel, onClose }: ChannelDialogProps) {
  const organizationId = useOrganizationId();
  return (
    <DeleteDialog
      title={`Delete ${channel.name}?`}
      name={channel.name}
      call={(client) => client.organizations.integrationChannels.delete(organizationId, channel.id)}
      changes={[['organizations', organizationId, 'channels']]}
      onClose={onClose}
    >
      <p>Messages that wait are dropped. The chat room itself stays.</p>
    </DeleteDialog>
  );
}
