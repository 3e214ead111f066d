/** States of webhooks and replays as words and colours. */

import type { Replay, Webhook } from '../../api/client';
import { Status, toWords, type Tone } from '../../ui/status';

/** Show the state of a webhook. An active one whose last attempts failed is failing. */
export function WebhookState({ webhook }: { webhook: Webhook }) {
  if (webhook.status === 'disabled') return <Status tone="bad">Disabled</Status>;
  if (webhook.status === 'paused') return <Status tone="neutral">Paused</Status>;
  return webhook.failingSince ? <Status tone="warning">Failing</Status> : <Status tone="good">Active</Status>;
}

const REPLAY_TONES: Record<Replay['status'], Tone> = {
  queued: 'neutral',
  running: 'warning',
  completed: 'good',
  failed: 'bad',
};

/** Show the state of a replay. */
export function ReplayState({ status }: { status: Replay['status'] }) {
  return <Status tone={REPLAY_TONES[status]}>{toWords(status)}</Status>;
}

/** Return whether a replay can still change. */
export function isReplayRunning({ status }: Pick<Replay, 'status'>): boolean {
  return status === 'queued' || status === 'running';
}
