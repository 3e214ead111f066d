/** The dialogs that create and change a redirect. */

import type { Redirect, RedirectCreate, RedirectPatch } from '../../api/client';
import { CheckField, ON } from '../../ui/check-field';
import { EditDialog } from '../../ui/edit-form';
import { Field, type Values } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';
import { useSiteId } from '../../ui/place';
import { SelectField } from '../../ui/select-field';

const LABELS = { fromPath: 'From', toPath: 'To', statusCode: 'Status code' };
const STATUS_CODES = [
  { value: '301', label: '301: permanent' },
  { value: '302', label: '302: temporary' },
  { value: '307', label: '307: temporary, keeps the method' },
  { value: '308', label: '308: permanent, keeps the method' },
];

type RedirectFields = RedirectCreate & Pick<Redirect, 'statusCode' | 'enabled'>;

function toFields({ fromPath = '', toPath, statusCode, enabled }: Values): RedirectFields {
  return { fromPath, toPath: toPath || null, statusCode: Number(statusCode) as Redirect['statusCode'], enabled: enabled === ON };
}

function Fields() {
  return (
    <>
      <Field name="fromPath" label="From" required autoComplete="off" hint="A path of the site, such as /shop. /shop/* stands for everything below it." />
      <Field name="toPath" label="To" autoComplete="off" hint="A path or a web address. :splat stands for what * matched. The home page if it is empty." />
      <SelectField name="statusCode" label="Status code" choices={STATUS_CODES} />
      <CheckField name="enabled" label="Enabled" />
    </>
  );
}

/** Create a redirect. */
export function CreateRedirectDialog({ onClose }: { onClose: () => void }) {
  const siteId = useSiteId();
  return (
    <FormDialog
      title="Create a redirect"
      name={`create-redirect-${siteId}`}
      initial={{ fromPath: '', toPath: '', statusCode: '301', enabled: ON }}
      submitLabel="Create redirect"
      call={(client, values, options) => client.sites.redirects.create(siteId, toFields(values), options)}
      changes={[['sites', siteId, 'redirects']]}
      doneText={(redirect) => `${redirect.fromPath} redirects now.`}
      onClose={onClose}
    >
      {() => <Fields />}
    </FormDialog>
  );
}

interface EditRedirectDialogProps {
  redirectId: string;
  onClose: () => void;
}

/** Change a redirect. */
export function EditRedirectDialog({ redirectId, onClose }: EditRedirectDialogProps) {
  const siteId = useSiteId();
  return (
    <EditDialog
      title="Edit the redirect"
      recordKey={['sites', siteId, 'redirects', redirectId]}
      read={(client, options) => client.sites.redirects.get(siteId, redirectId, options)}
      toFields={({ fromPath, toPath, statusCode, enabled }: Redirect) => ({ fromPath, toPath, statusCode, enabled })}
      save={(client, changes, options) => client.sites.redirects.update(siteId, redirectId, changes as RedirectPatch, options)}
      changes={[['sites', siteId, 'redirects']]}
      subject="the redirect"
      labels={LABELS}
      savedText="The redirect was saved."
      onClose={onClose}
    >
      {(_, { origin }) => (
        <>
          {origin === 'page' && <p class="notice warning">It follows a page that moved. Once you change it, its target is fixed.</p>}
          <Fields />
        </>
      )}
    </EditDialog>
  );
}
