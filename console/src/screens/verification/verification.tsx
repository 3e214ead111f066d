/** Verifies receipts and exports that somebody has saved. */

import { useState } from 'preact/hooks';
import { useAction } from '../../api/queries';
import { VerdictNotice } from '../../proof/verdict-notice';
import { VerifierNote } from '../../proof/verifier-note';
import { FileField } from '../../ui/file-field';
import { Field, Form } from '../../ui/form';
import { PageHeader } from '../../ui/page';

const KEY_HINT =
  'One that you saved or got from somebody else, in base64. Without one, the service is asked for its keys.';

/** The screen. */
export default function Verification() {
  return (
    <>
      <PageHeader
        title="Verify a file"
        description="A receipt of an entry, or an export in NDJSON that was downloaded at once. The file never leaves this browser."
      />
      <div class="verification">
        <VerificationForm />
      </div>
    </>
  );
}

function VerificationForm() {
  const [file, setFile] = useState<File | null>(null);
  const action = useAction({
    call: async (client, { text, key }: { text: string; key: string }) => {
      const { toFile, verifyFile } = await import('../../proof/verify-file');
      const keys = key ? [key] : (await client.status.get()).auditPublicKeys;
      return verifyFile(file ?? toFile(text), keys);
    },
    changes: [],
  });
  return (
    <Form
      name="verification"
      initial={{ text: '', key: '' }}
      error={action.error}
      onSubmit={({ text = '', key = '' }) => action.mutate({ text, key: key.trim() })}
    >
      {({ text = '' }) => (
        <>
          <FileField label="File" accept=".json,.ndjson,.gz" onChoose={setFile} />
          {!file && <Field name="text" label="Or its text" type="textarea" />}
          <Field name="key" label="Public key" hint={KEY_HINT} />
          <div class="buttons">
            <button type="submit" class="button primary" disabled={action.isPending || (!file && !text.trim())}>
              {action.isPending ? 'Working' : 'Verify'}
            </button>
          </div>
          {action.data && <VerdictNotice verdict={action.data} />}
          <VerifierNote />
        </>
      )}
    </Form>
  );
}
