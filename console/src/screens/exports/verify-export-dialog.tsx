/** The dialog that verifies the downloaded file of an export in the browser. */

import { useState } from 'preact/hooks';
import type { AuditExport } from '../../api/client';
import { useAction } from '../../api/queries';
import { VerdictNotice } from '../../proof/verdict-notice';
import { VerifierNote } from '../../proof/verifier-note';
import { Dialog, DialogFooter } from '../../ui/dialog';
import { FileField } from '../../ui/file-field';
import { useOrganizationId } from '../../ui/place';
import { Problem } from '../../ui/states';

interface VerifyExportDialogProps {
  record: AuditExport;
  onClose: () => void;
}

/** Verify a file against the checkpoint and the evidence of its export. */
export function VerifyExportDialog({ record, onClose }: VerifyExportDialogProps) {
  const organizationId = useOrganizationId();
  const [file, setFile] = useState<File | null>(null);
  const action = useAction({
    call: async (client, chosen: File) => {
      const [complete, { auditPublicKeys }, { verifyExportFile }] = await Promise.all([
        client.organizations.auditLog.exports.get(organizationId, record.id),
        client.status.get(),
        import('../../proof/verify-file'),
      ]);
      return verifyExportFile(chosen, complete, organizationId, auditPublicKeys);
    },
    changes: [],
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (file) action.mutate(file);
  };
  return (
    <Dialog title="Verify the file of this export" onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        <p>Download the file first. It is compared with the signed checkpoint of the export, and never leaves this browser.</p>
        <FileField label="File" accept=".gz,.ndjson" onChoose={setFile} />
        {action.error && <Problem error={action.error} />}
        {action.data && <VerdictNotice verdict={action.data} />}
        <VerifierNote />
        <DialogFooter
          submitLabel="Verify"
          onCancel={onClose}
          isPending={action.isPending}
          isDisabled={!file}
          call={(client) => client.organizations.auditLog.exports.get(organizationId, record.id)}
        />
      </form>
    </Dialog>
  );
}
