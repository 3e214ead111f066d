/** The destinations of log streams: their kinds, and how forms and texts show them. */

import type { LogStreamCreate, LogStreamDetail } from '../../api/client';
import type { Values } from '../../ui/form';

export type DestinationIn = LogStreamCreate['destination'];
type Destination = LogStreamDetail['destination'];

export const KINDS = [
  { value: 'https', label: 'HTTPS endpoint', hint: 'Signed batches of JSON.' },
  { value: 'splunk', label: 'Splunk', hint: 'An HTTP Event Collector.' },
  { value: 'datadog', label: 'Datadog', hint: 'Logs of an organization there.' },
  { value: 's3', label: 'Amazon S3', hint: 'Objects in a bucket of yours.' },
];

export const DATADOG_SITES = [
  'datadoghq.com',
  'us3.datadoghq.com',
  'us5.datadoghq.com',
  'datadoghq.eu',
  'ap1.datadoghq.com',
  'ap2.datadoghq.com',
  'ddog-gov.com',
];

/** Fields of each kind. Those with null can be left empty. */
const FIELDS: Record<string, Record<string, string | null>> = {
  https: { url: '', format: 'json' },
  splunk: { url: '', token: null, index: null, sourcetype: null },
  datadog: { site: 'datadoghq.com', apiKey: null, service: null },
  s3: { bucket: '', region: '', prefix: null, roleArn: '' },
};

/** Names of the fields for people. */
export const FIELD_LABELS: Record<string, string> = {
  url: 'URL',
  format: 'Format',
  token: 'Token',
  index: 'Index',
  sourcetype: 'Source type',
  site: 'Site',
  apiKey: 'API key',
  service: 'Service',
  bucket: 'Bucket',
  region: 'Region',
  prefix: 'Prefix',
  roleArn: 'Role',
};

/** The same names, by the names of fields in a form. */
export const DESTINATION_LABELS: Record<string, string> = {
  'destination/type': 'Destination',
  ...Object.fromEntries(Object.entries(FIELD_LABELS).map(([name, label]) => [`destination/${name}`, label])),
};

/** Return the values of a form for a destination, or for a new one. The names of fields are pointers. */
export function toDestinationValues(destination?: Destination): Values {
  const values: Values = { 'destination/type': destination?.type ?? 'https' };
  for (const fields of Object.values(FIELDS)) {
    for (const [name, initial] of Object.entries(fields)) {
      const present = destination?.[name];
      values[`destination/${name}`] = typeof present === 'string' ? present : (initial ?? '');
    }
  }
  return values;
}

/** Return the destination of a form. Optional fields that are empty are left out. */
export function toDestination(values: Values): DestinationIn {
  const type = values['destination/type'] ?? 'https';
  const fields = Object.entries(FIELDS[type] ?? {}).map(([name, initial]): [string, string] | null => {
    const value = values[`destination/${name}`] ?? '';
    return initial === null && value === '' ? null : [name, value];
  });
  return { type, ...Object.fromEntries(fields.filter((each) => each !== null)) } as DestinationIn;
}

/** Return the name of a kind of destination. */
export function kindName(destination: Destination): string {
  return KINDS.find((each) => each.value === destination.type)?.label ?? destination.type;
}

/** Return where a destination is, in a few words. */
export function describeDestination(destination: Destination): string {
  const { url, site, bucket, prefix } = destination as Record<string, unknown>;
  const place = url ?? site ?? [bucket, prefix].filter(Boolean).join('/');
  return typeof place === 'string' && place !== '' ? place : kindName(destination);
}
