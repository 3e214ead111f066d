/** The dialog that exports the entries that the filters select. */

import type { AuditExport, Client, CreateOptions } from '../../api/client';
import { useAction } from '../../api/queries';
import { linkTo, navigate } from '../../ui/address';
import { Dialog, DialogFooter } from '../../ui/dialog';
import { downloadText } from '../../ui/download';
import { type Choice, ChoiceField, Form, type Values } from '../../ui/form';
import { useOrganizationId } from '../../ui/place';
import { showToast } from '../../ui/toast';
import { type Selection, useSelection } from './selection';

type Format = 'ndjson' | 'csv';

const FORMATS: readonly Choice[] = [
  { value: 'ndjson', label: 'NDJSON', hint: 'One JSON object in each line. It can be verified without the service.' },
  { value: 'csv', label: 'CSV', hint: 'For spreadsheets. It cannot be verified.' },
];
const WAYS: readonly Choice[] = [
  { value: 'now', label: 'Download now', hint: 'Up to 10,000 entries.' },
  { value: 'background', label: 'In the background', hint: 'Any number of entries. The file is kept for a week.' },
];
const MEDIA_TYPES = { ndjson: 'application/x-ndjson', csv: 'text/csv' } as const;

/** Export entries, at once or in the background. */
export function ExportDialog({ onClose }: { onClose: () => void }) {
  const organizationId = useOrganizationId();
  const selection = useSelection();
  const action = useAction({
    call: (client, values: Values, options) => exportEntries(client, organizationId, selection, values, options),
    changes: [['organizations', organizationId, 'exports']],
    onSuccess: (result, { format }) => {
      if (typeof result !== 'string') {
        showToast('The export was started.');
        navigate(linkTo(`/o/${organizationId}/exports`).slice(1));
        return;
      }
      downloadText(`log.${format}`, result, MEDIA_TYPES[format as Format]);
      onClose();
    },
  });
  const isSelective = Object.keys(selection).length > 0;
  return (
    <Dialog title={isSelective ? 'Export the selected entries' : 'Export the log'} onClose={onClose}>
      <Form name="export" initial={{ format: 'ndjson', way: 'now' }} error={action.error} onSubmit={(values) => action.mutate(values)}>
        {(values) => (
          <>
            <ChoiceField name="format" label="Format" choices={FORMATS} />
            <ChoiceField name="way" label="How" choices={WAYS} />
            <DialogFooter
              submitLabel={values.way === 'now' ? 'Download' : 'Start the export'}
              onCancel={onClose}
              isPending={action.isPending}
              call={(client) => exportEntries(client, organizationId, selection, values)}
            />
          </>
        )}
      </Form>
    </Dialog>
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
