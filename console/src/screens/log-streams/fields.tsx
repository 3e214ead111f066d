/** The fields of the forms of log streams. */

import { EventsField } from '../../ui/events-field';
import { ChoiceField, Field, type Values } from '../../ui/form';
import { SelectField } from '../../ui/select-field';
import { DATADOG_SITES, KINDS } from './destinations';

const FORMATS = [
  { value: 'json', label: 'A JSON array' },
  { value: 'ndjson', label: 'One entry in each line' },
];

interface StreamFieldsProps {
  values: Values;
  /** Whether the stream exists: the type of its destination stays, and so does its credential if the field is empty. */
  isEdit?: boolean;
}

/** Fields of a stream: its destination, its description and its events. */
export function StreamFields({ values, isEdit = false }: StreamFieldsProps) {
  const kind = values['destination/type'];
  const hint = isEdit ? 'Leave it empty to keep the current one.' : 'It is stored encrypted, and never shown again.';
  return (
    <>
      {!isEdit && <ChoiceField name="destination/type" label="Destination" choices={KINDS} />}
      {kind === 'https' && <HttpsFields />}
      {kind === 'splunk' && <SplunkFields hint={hint} isEdit={isEdit} />}
      {kind === 'datadog' && <DatadogFields hint={hint} isEdit={isEdit} />}
      {kind === 's3' && <S3Fields />}
      <Field name="description" label="Description" />
      <EventsField />
    </>
  );
}

function HttpsFields() {
  return (
    <>
      <Field name="destination/url" label="URL" type="url" required autoComplete="off" hint="The https address that receives the batches." />
      <SelectField name="destination/format" label="Format" choices={FORMATS} />
    </>
  );
}

interface CredentialProps {
  hint: string;
  isEdit: boolean;
}

function SplunkFields({ hint, isEdit }: CredentialProps) {
  return (
    <>
      <Field name="destination/url" label="URL of the collector" type="url" required autoComplete="off" />
      <Field name="destination/token" label="Token" required={!isEdit} autoComplete="off" hint={hint} />
      <Field name="destination/index" label="Index" autoComplete="off" hint="If empty, that of the token." />
      <Field name="destination/sourcetype" label="Source type" autoComplete="off" hint="If empty, that of the token." />
    </>
  );
}

function DatadogFields({ hint, isEdit }: CredentialProps) {
  const sites = DATADOG_SITES.map((site) => ({ value: site, label: site }));
  return (
    <>
      <SelectField name="destination/site" label="Site" choices={sites} />
      <Field name="destination/apiKey" label="API key" required={!isEdit} autoComplete="off" hint={hint} />
      <Field name="destination/service" label="Service" autoComplete="off" hint="If empty, atrium." />
    </>
  );
}

function S3Fields() {
  return (
    <>
      <Field name="destination/bucket" label="Bucket" required autoComplete="off" />
      <Field name="destination/region" label="Region" required autoComplete="off" hint="For example, eu-central-1." />
      <Field name="destination/prefix" label="Prefix" autoComplete="off" hint="The beginning of the objects' names." />
      <Field
        name="destination/roleArn"
        label="ARN of the role"
        required
        autoComplete="off"
        hint="A role that this service may assume. Its name begins with atrium-log-stream-. The stream then shows the external id for its trust policy."
      />
    </>
  );
}
