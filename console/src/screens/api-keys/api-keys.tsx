/** The API keys of an organization. */

import { operations } from '../../api/access';
import type { ApiKey, ListPage, PrincipalName } from '../../api/client';
import { useList } from '../../api/queries';
import { useDialog } from '../../ui/address';
import { actionsColumn, DialogButton } from '../../ui/dialog-buttons';
import { PageHeader } from '../../ui/page';
import { useCan, useOrganizationId } from '../../ui/place';
import { Empty } from '../../ui/states';
import { Status, toWords, type Tone } from '../../ui/status';
import { List, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { CreateKeyDialog } from './create-dialog';
import { RevokeKeyDialog, RotateKeyDialog } from './key-dialogs';

const TONES: Record<ApiKey['status'], Tone> = { active: 'good', revoked: 'bad', expired: 'neutral' };

const REASONS: Record<NonNullable<ApiKey['revokedBecause']>['reason'], string> = {
  parent_revoked: 'The key that created it was revoked',
  member_removed: 'Its creator was removed',
  member_left: 'Its creator left',
  member_demoted: 'Its creator has a lower role now',
  person_erased: 'Its creator was erased',
};

type Names = Record<string, PrincipalName>;

function columnsOf(names: Names): readonly Column<ApiKey>[] {
  return [
    {
      title: 'Name',
      kind: 'primary',
      render: (each) => (
        <>
          {each.name}
          <span class="sub">
            <code>{each.hint}</code> by {nameOf(names, each.createdBy)}
          </span>
        </>
      ),
    },
    { title: 'Status', render: (each) => <KeyStatus apiKey={each} /> },
    {
      title: 'Scopes',
      render: (each) => (
        <>
          <code>{each.scopes.join(', ')}</code>
          <span class="sub">{each.allowedIps.length > 0 ? `From ${each.allowedIps.join(', ')}` : 'From any network'}</span>
        </>
      ),
    },
    { title: 'Last used', kind: 'time', render: (each) => <Time value={each.lastUsedAt} /> },
    { title: 'Expires', kind: 'time', render: (each) => <Time value={each.expiresAt} /> },
  ];
}

function nameOf(names: Names, id: string | null): string {
  const found = id ? names[id] : undefined;
  return found?.name ?? found?.username ?? (id ? 'somebody who left' : 'an erased person');
}

function KeyStatus({ apiKey: { status, revokedBecause, formerSecretsUntil } }: { apiKey: ApiKey }) {
  const isOverlapping = status === 'active' && formerSecretsUntil !== null && Date.parse(formerSecretsUntil) > Date.now();
  return (
    <>
      <Status tone={TONES[status]}>{toWords(status)}</Status>
      {revokedBecause && <span class="sub">{REASONS[revokedBecause.reason]}</span>}
      {isOverlapping && (
        <span class="sub">
          Former secret until <Time value={formerSecretsUntil} />
        </span>
      )}
    </>
  );
}

/** The screen. */
export default function ApiKeys() {
  const organizationId = useOrganizationId();
  const query = useList(['organizations', organizationId, 'api-keys'], (client, page, options) =>
    client.organizations.apiKeys.list(organizationId, { ...page, include: 'names' }, options),
  );
  const pages: readonly (ListPage<ApiKey> & { names?: Names })[] = query.data?.pages ?? [];
  const names = Object.assign({}, ...pages.map((page) => page.names ?? {})) as Names;
  const createButton = <DialogButton dialog="create" kind="primary">Create API key</DialogButton>;
  return (
    <>
      <PageHeader title="API keys" description="With a key, a program calls the API in the name of the organization." actions={createButton} />
      <List
        query={query}
        noun="API key"
        columns={[...columnsOf(names), useActionsColumn()]}
        getKey={(each) => each.id}
        empty={
          <Empty title="No API keys yet" action={createButton}>
            A key has scopes, and can have an expiry and networks from which it works. Give each program a key of its own.
          </Empty>
        }
      />
      <Dialogs keys={query.items} />
    </>
  );
}

function useActionsColumn(): Column<ApiKey> {
  const canRotate = useCan(operations.rotate_api_key);
  const canRevoke = useCan(operations.revoke_api_key);
  return actionsColumn(({ id, name, status }) => ({
    id,
    name,
    actions: [
      { dialog: 'rotate', text: 'Rotate', isShown: canRotate && status === 'active' },
      { dialog: 'revoke', text: 'Revoke', kind: 'danger', isShown: canRevoke && status === 'active' },
    ],
  }));
}

/** The dialog that the address names. */
function Dialogs({ keys }: { keys: readonly ApiKey[] }) {
  const { name, id, close } = useDialog();
  if (name === 'create') return <CreateKeyDialog onClose={close} />;
  const apiKey = keys.find((each) => each.id === id);
  if (!apiKey) return null;
  if (name === 'rotate') return <RotateKeyDialog apiKey={apiKey} onClose={close} />;
  return name === 'revoke' ? <RevokeKeyDialog apiKey={apiKey} onClose={close} /> : null;
}
