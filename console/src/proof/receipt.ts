/** Verifies the receipt of an entry that a screen shows. */

import { useEffect, useState } from 'preact/hooks';
import type { AuditEntry, EntryProof } from '../api/client';

export type ReceiptVerdict = { kind: 'proven' } | { kind: 'broken'; message: string };

/** Return the verdict on a receipt, or null until it is known. */
export function useReceiptVerdict(
  receipt: EntryProof,
  shown: AuditEntry,
  organizationId: string,
  keys: readonly string[],
): ReceiptVerdict | null {
  const [verdict, setVerdict] = useState<ReceiptVerdict | null>(null);
  const [fault, setFault] = useState<unknown>(null);
  useEffect(() => {
    let isCurrent = true;
    import('./verify-receipt')
      .then(({ verifyShownEntry }) => verifyShownEntry(receipt, shown, organizationId, keys))
      .then((found) => isCurrent && setVerdict(found), (error: unknown) => isCurrent && setFault(error));
    return () => {
      isCurrent = false;
    };
  }, [receipt, shown, organizationId, keys]);
  // The boundary of the screen shows faults that say nothing about the entry.
  if (fault !== null) throw fault;
  return verdict;
}
