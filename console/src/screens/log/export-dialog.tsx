/** The dialog that exports the entries that the filters select. */

import type { AuditExport, Client, CreateOptions } from '../../api/client';
import { navigate } from '../../ui/address';
import { downloadText } from '../../ui/download';
import { type Choice, ChoiceField, type Values } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';
import { useOrganizationId } from '../../ui/place';
import { showToast } from '../../ui/toast';
import { type Selection, useSelection } from './selection';

type Format = 'ndjson' | 'csv';

export const CSV: Choice = { value: 'csv', label: 'CSV', hint: 'For spreadsheets. It cannot be verified.' };
const FORMATS: readonly Choice[] = [
  { value: 'ndjson', label: 'NDJSON', hint: 'One JSON object in each line. It can be verified without the service.' },
  CSV,
];
const WAYS: readonly Choice[] = [
  { value: 'now', label: 'Download now', hint: 'Up to 10,000 entries.' },
  { value: 'background', label: 'In the background', hint: 'Any number of entries. The file is kept for a week.' },
];
export const MEDIA_TYPES = { ndjson: 'application/x-ndjson', csv: 'text/csv' } as const;

/** Export entries, at once or in the background. */
export function ExportDialog({ onClose }: { onClose: () => void }) {
  const organizationId = useOrganizationId();
  const selection = useSelection();
  return (
    <FormDialog
      title={Object.keys(selection).length > 0 ? 'Export the selected entries' : 'Export the log'}
      name="export"
      initial={{ format: 'ndjson', way: 'now' }}
      submitLabel={({ way }) => (way === 'now' ? 'Download' : 'Start the export')}
      call={(client, values, options) => exportEntries(client, organizationId, selection, values, options)}
      changes={[['organizations', organizationId, 'exports']]}
      onDone={(result, { format }) => {
        if (typeof result === 'string') {
          downloadText(`log.${format}`, result, MEDIA_TYPES[format as Format]);
          onClose();
        } else {
          showToast('The export was started.');
          navigate(`/o/${organizationId}/exports`);
        }
      }}
      onClose={onClose}
    >
      {() => (
        <>
          <ChoiceField name="format" label="Format" choices={FORMATS} />
          <ChoiceField name="way" label="How" choices={WAYS} />
        </>
      )}
    </FormDialog>
  );
}

/** Return the text of an export or, in the background, its record. */
function exportEntries(
  client: Client,
  organizationId: string,
  filters: Selection,
  values: Values,
  options: CreateOptions = {},
): PromiseLike<AuditExport | string> {
  const format = values.format as Format;
  const { auditLog } = client.organizations;
  if (values.way === 'background') return auditLog.exports.create(organizationId, { format, filters }, options);
  return auditLog.export(organizationId, { ...filters, format, evidence: format === 'ndjson' });
}
