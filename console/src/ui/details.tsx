/** The fields of one record, each with its name. */

import { Fragment, type ComponentChildren } from 'preact';
import { Time, TimeLabel } from './time';

/** A field: its name, and what it contains. */
export type Detail = readonly [label: ComponentChildren, content: ComponentChildren];

/** Show the fields of a record. Those without a content are left out. */
export function Details({ items }: { items: readonly Detail[] }) {
  const shown = items.filter(([, content]) => content || content === 0);
  return (
    <dl class="details">
      {shown.map(([label, content], index) => (
        <Fragment key={index}>
          <dt>{label}</dt>
          <dd>{content}</dd>
        </Fragment>
      ))}
    </dl>
  );
}

/** Return the field of a time, with the zone in its name. */
export function timeDetail(label: string, value: string | null): Detail {
  return [<TimeLabel>{label}</TimeLabel>, <Time value={value} />];
}
