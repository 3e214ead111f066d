/** The proof of an entry: its position, its hash, and whether this browser has proven that it is in the signed tree. */

import type { AuditEntry, EntryProof as Receipt } from '../../api/client';
import { hasStatus } from '../../api/problems';
import { useRecord } from '../../api/queries';
import { useReceiptVerdict } from '../../proof/receipt';
import { VerifierNote } from '../../proof/verifier-note';
import { CopyText } from '../../ui/copy-text';
import { CurlButton } from '../../ui/curl-button';
import { Details } from '../../ui/details';
import { downloadText } from '../../ui/download';
import { Section } from '../../ui/page';
import { useOrganizationId } from '../../ui/place';
import { Failed, Loading, RetryButton } from '../../ui/states';
import { Status } from '../../ui/status';

/** The proof, which is read and verified when the screen opens. */
export function EntryProof({ entry }: { entry: AuditEntry }) {
  const organizationId = useOrganizationId();
  const receipt = useRecord(['organizations', organizationId, 'audit-log', 'proofs', entry.id], (client, options) =>
    client.organizations.auditLog.getProof(organizationId, entry.id, {}, options),
  );
  const status = useRecord(['status'], (client, options) => client.status.get(options));
  const error = receipt.error ?? status.error;
  const retry = () => (receipt.error ? receipt.refetch() : status.refetch());
  return (
    <Section title="Proof">
      {receipt.data && status.data ? (
        <Verified receipt={receipt.data.data} entry={entry} keys={status.data.data.auditPublicKeys} />
      ) : hasStatus(error, 409) ? (
        <div class="notice">
          This entry gets its position in the log in a second or two.
          <div class="buttons">
            <RetryButton error={error} onRetry={retry} />
          </div>
        </div>
      ) : error ? (
        <Failed error={error} onRetry={retry} />
      ) : (
        <Loading lines={3} />
      )}
    </Section>
  );
}

interface VerifiedProps {
  receipt: Receipt;
  entry: AuditEntry;
  keys: readonly string[];
}

function Verified({ receipt, entry, keys }: VerifiedProps) {
  const organizationId = useOrganizationId();
  const verdict = useReceiptVerdict(receipt, entry, organizationId, keys);
  const save = () => downloadText(`receipt-${entry.id}.json`, JSON.stringify(receipt, null, 2), 'application/json');
  return (
    <div class={`proof ${verdict?.kind ?? ''}`}>
      <div class="proof-badge">
        <span role="status">
          {!verdict && <Status tone="neutral">Checking</Status>}
          {verdict?.kind === 'proven' && <Status tone="good">Proven in this browser</Status>}
          {verdict?.kind === 'broken' && <Status tone="bad">{`Not proven: entry ${receipt.sequence}`}</Status>}
        </span>
        <span class="buttons">
          <CurlButton call={(client) => client.organizations.auditLog.getProof(organizationId, entry.id)} />
          <button type="button" class="button" onClick={save}>
            Download the receipt
          </button>
        </span>
      </div>
      {verdict?.kind === 'broken' && (
        <p class="notice bad" role="alert">
          {verdict.message}
        </p>
      )}
      <ReceiptFacts receipt={receipt} />
      <VerifierNote />
    </div>
  );
}

function ReceiptFacts({ receipt }: { receipt: Receipt }) {
  return (
    <Details
      items={[
        ['Position', `${receipt.sequence.toLocaleString('en')} of ${receipt.treeSize.toLocaleString('en')}`],
        ['Leaf hash', <CopyText text={receipt.leafHash} label="Copy leaf hash" />],
        ['Root', <code class="break">{receipt.rootHash}</code>],
        ['Cosigned by', receipt.witness?.cosignedBy.join(', ') || <span class="muted">No witness yet</span>],
      ]}
    />
  );
}
