/** The list of event types, which the screens of organizations and operators share. */

import type { ComponentChildren } from 'preact';
import type { EventType } from '../../api/client';
import { useParameter } from '../../ui/address';
import { isOwnType, useEventTypes } from '../../ui/event-types';
import { Status } from '../../ui/status';
import { List, type Column } from '../../ui/table';

interface EventTypeListProps {
  /** Whether the list has the types of the application, or the built-in ones. */
  isOwn: boolean;
  renderName: (each: EventType) => ComponentChildren;
  /** Further columns. */
  columns?: readonly Column<EventType>[];
  empty: ComponentChildren;
}

/** Show event types, filtered by the parameter `q`. */
export function EventTypeList({ isOwn, renderName, columns = [], empty }: EventTypeListProps) {
  const query = useEventTypes();
  const [text] = useParameter('q');
  const items = (query.data ?? []).filter((each) => isOwnType(each) === isOwn && matches(each, text ?? ''));
  const all: readonly Column<EventType>[] = [
    { title: 'Type', kind: 'primary', render: renderName },
    { title: 'When it occurs', render: (each) => <Description eventType={each} /> },
    ...columns,
  ];
  return (
    <List
      query={{ ...query, items, hasNextPage: false, isFetchingNextPage: false, fetchNextPage: () => undefined }}
      noun="event type"
      columns={all}
      getKey={(each) => each.type}
      empty={empty}
    />
  );
}

/** Return whether a type or its description contains a text. */
export function matches({ type, description }: EventType, text: string): boolean {
  return `${type} ${description}`.toLowerCase().includes(text.trim().toLowerCase());
}

function Description({ eventType }: { eventType: EventType }) {
  return (
    <>
      {eventType.description}
      {eventType.deprecated && (
        <span class="sub">
          <Status tone="warning">Deprecated</Status>
        </span>
      )}
    </>
  );
}
