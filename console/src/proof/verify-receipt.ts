/** Verifies that an entry, as a screen shows it, is in the signed tree. */

import type { AuditEntry, EntryProof } from '../api/client';
import { toUtf8 } from '../log/bytes';
import { parsePublicKeys } from '../log/checkpoints';
import { InvalidInput } from '../log/errors';
import { canonicalJson } from '../log/json';
import { proveReceipt } from '../log/receipts';
import { requireOrigin } from './origin';
import type { ReceiptVerdict } from './receipt';

/** Verify a receipt, and that it is about the entry that the screen shows. */
export async function verifyShownEntry(
  receipt: EntryProof,
  shown: AuditEntry,
  organizationId: string,
  keys: readonly string[],
): Promise<ReceiptVerdict> {
  try {
    const proven = await proveReceipt(toUtf8(JSON.stringify(receipt)), parsePublicKeys(keys));
    requireOrigin(proven.origin, organizationId);
    if (withoutPosition(receipt.entry) !== withoutPosition(shown)) {
      throw new InvalidInput('The receipt is about another entry, or another version of it, than the one on this screen.');
    }
    return { kind: 'proven' };
  } catch (error) {
    if (error instanceof InvalidInput) return { kind: 'broken', message: error.message };
    throw error;
  }
}

/** Return an entry as text without what it gets after it was written. */
function withoutPosition({ sequence: _, integrity: __, ...fields }: AuditEntry): string {
  return canonicalJson(fields);
}
