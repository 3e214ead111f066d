/** The dialog that replaces the secret of a webhook, and shows the new one once. */

import { useState } from 'preact/hooks';
import { Dialog, SecretDialog } from '../ui/modal';
import { Problem } from '../ui/states';
import { useChange, useLink } from './link';

interface RotateDialogProps {
  organizationId: string;
  webhookId: string;
  onClose: () => void;
}

/** How long the former secret signs messages too. */
const OVERLAPS: readonly [string, string][] = [
  ['0', 'Not at all: it may be known to others'],
  ['24', '24 hours'],
  ['168', '7 days'],
];

/** Replace the secret. */
export function RotateDialog({ organizationId, webhookId, onClose }: RotateDialogProps) {
  const { webhooks } = useLink().client.organizations;
  const [hours, setHours] = useState('24');
  const [secret, setSecret] = useState<string | null>(null);
  const rotation = useChange(
    (graceHours: number, options) => webhooks.rotateSecret(organizationId, webhookId, { graceHours }, options),
    (webhook) => setSecret(webhook.secret),
  );
  if (secret) {
    return (
      <SecretDialog title="The new secret" secret={secret} onClose={onClose}>
        Store it where your receiver reads it.{' '}
        {hours === '0' ? 'The former secret no longer works.' : `For ${hours} hours, messages are also signed with the former secret.`}
      </SecretDialog>
    );
  }
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    rotation.run(Number(hours));
  };
  return (
    <Dialog title="Rotate the secret?" onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        {rotation.error !== null && <Problem error={rotation.error} />}
        <p>Messages are signed with a new secret from now on. Your receiver needs it to verify them.</p>
        <OverlapField value={hours} onChange={setHours} />
        <div class="dialog-footer">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button primary" disabled={rotation.isPending}>
            {rotation.isPending ? 'Working' : 'Rotate secret'}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function OverlapField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  return (
    <label class="field">
      <span>The former secret also signs messages for</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {OVERLAPS.map(([choice, label]) => (
          <option key={choice} value={choice}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}
