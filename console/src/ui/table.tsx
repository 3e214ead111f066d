/** Tables of records, which become cards on narrow screens, and the states of the list that fills them. */

import type { ComponentChildren } from 'preact';
import { Failed, Loading, RequestIdentity, RetryButton } from './states';
import { toWords } from './status';
import { nameZone, TimeLabel, useZone } from './time';

export interface Column<T> {
  title: string;
  render: (item: T) => ComponentChildren;
  /** The first column names the record. Times get their zone in the head. */
  kind?: 'primary' | 'time' | 'number' | 'actions';
}

interface TableProps<T> {
  caption: string;
  columns: readonly Column<T>[];
  items: readonly T[];
  getKey: (item: T) => string;
  /** Whether other items are about to replace these. They are shown, but nothing can be done with them. */
  isStale?: boolean;
}

/** A table. */
export function Table<T>({ caption, columns, items, getKey, isStale = false }: TableProps<T>) {
  const zoneName = nameZone(useZone());
  return (
    <table class="table" inert={isStale} aria-busy={isStale}>
      <caption class="hidden-visually">
        {caption}
        {columns.some((column) => column.kind === 'time') && `, times in ${zoneName}`}
      </caption>
      <thead>
        <tr>
          {columns.map((column) => (
            <ColumnHead key={column.title} title={column.title} kind={column.kind} />
          ))}
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr key={getKey(item)}>
            {columns.map((column) => (
              <td
                key={column.title}
                class={CELL_CLASSES[column.kind ?? 'text']}
                data-label={column.kind === 'time' ? `${column.title} (${zoneName})` : column.title}
              >
                <div>{column.render(item)}</div>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const CELL_CLASSES = { primary: 'primary-cell', time: 'nowrap', number: 'number', actions: 'actions', text: '' } as const;

function ColumnHead({ title, kind }: { title: string; kind: Column<never>['kind'] }) {
  if (kind === 'actions') {
    return (
      <th scope="col">
        <span class="hidden-visually">{title}</span>
      </th>
    );
  }
  return (
    <th scope="col" class={kind === 'number' ? 'number' : ''}>
      {kind === 'time' ? <TimeLabel>{title}</TimeLabel> : title}
    </th>
  );
}

/** The parts of a query of a list that the interface shows. `useList` returns them. */
export interface ListQuery<T> {
  items: readonly T[];
  isPending: boolean;
  isPlaceholderData: boolean;
  isFetchingNextPage: boolean;
  hasNextPage: boolean;
  error: Error | null;
  failureReason: Error | null;
  dataUpdatedAt: number;
  refetch: () => unknown;
  fetchNextPage: () => unknown;
}

interface ListStatesProps<T> {
  query: ListQuery<T>;
  /** What is shown if the list has no items. */
  empty: ComponentChildren;
  /** What an item is called, such as “member”. */
  noun: string;
}

interface ListProps<T> extends ListStatesProps<T>, Pick<TableProps<T>, 'columns' | 'getKey'> {
  /** What the list is called for screen readers, if not by the plural of the noun. */
  caption?: string;
}

/** A list of records in a table. */
export function List<T>({ caption, columns, getKey, ...states }: ListProps<T>) {
  const { query, noun } = states;
  return (
    <ListStates {...states}>
      <Table
        caption={caption ?? toWords(toPlural(noun))}
        columns={columns}
        items={query.items}
        getKey={getKey}
        isStale={query.isPlaceholderData}
      />
    </ListStates>
  );
}

/** The states of a list: loading, failed, stale, empty, and more to load. The children show the items. */
export function ListStates<T>({ query, empty, noun, children }: ListStatesProps<T> & { children: ComponentChildren }) {
  if (query.isPending) return <Loading />;
  if (query.error && query.items.length === 0) return <Failed error={query.error} onRetry={() => query.refetch()} />;
  // A page can be empty although others follow.
  if (query.items.length === 0 && !query.hasNextPage) return <>{empty}</>;
  const count = `${query.items.length} ${query.items.length === 1 ? noun : toPlural(noun)}`;
  return (
    <>
      {query.error && <Stale query={query} />}
      {children}
      <div class="list-footer">
        <span role="status">{query.isPlaceholderData ? 'Loading' : query.hasNextPage ? `The first ${count}` : count}</span>
        {query.hasNextPage && (
          <button type="button" class="button" disabled={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
            {query.isFetchingNextPage ? 'Loading' : 'Load more'}
          </button>
        )}
      </div>
    </>
  );
}

function toPlural(noun: string): string {
  return /[^aeiou]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : `${noun}s`;
}

interface StaleProps {
  query: { error: Error | null; dataUpdatedAt: number; refetch: () => unknown };
}

/** A notice that the data below is old, because reading it again failed. */
export function Stale({ query }: StaleProps) {
  return (
    <div class="notice warning" role="alert">
      This is the data of {new Date(query.dataUpdatedAt).toISOString().slice(11, 16)} UTC. Reading it again failed.
      <RequestIdentity error={query.error} />
      <div class="buttons">
        <RetryButton error={query.error} onRetry={() => query.refetch()} isRead />
      </div>
    </div>
  );
}

interface RecordProps<T> {
  query: { data: { data: T } | undefined; isPending: boolean; error: Error | null; dataUpdatedAt: number; refetch: () => unknown };
  children: (data: T) => ComponentChildren;
}

/** A record with its states: loading, failed and stale. */
export function RecordView<T>({ query, children }: RecordProps<T>) {
  if (query.data) {
    return (
      <>
        {query.error && <Stale query={query} />}
        {children(query.data.data)}
      </>
    );
  }
  return query.error ? <Failed error={query.error} onRetry={() => query.refetch()} /> : <Loading />;
}
