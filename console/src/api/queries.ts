/** Reads and changes of screens: records, lists, and actions with a stable idempotency key. */

import { hashKey, QueryClient, useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/preact-query';
import { useRef } from 'preact/hooks';
import { MAX_POST_RETRIES, type Answer, type Call, type Client, type CreateOptions, type ListPage, type ReadOptions } from './client';
import { useEnvironment } from './context';
import { nextPollMs } from './polling';
import { ApiProblem, isTransient } from './problems';

const MAX_RETRIES = 2;
/** A read that has to wait longer fails at once. Its screen then shows the failure, and counts down to the repetition. */
const MAX_UNSEEN_DELAY_MS = 5000;

/** The key of a query: the name of the resource, then its ids. The filters of a list are an object at the end. */
export type QueryKey = readonly unknown[];

/** Create the cache of records. Reads repeat twice after transient failures, unless the service asks to wait more than 5 seconds. */
export function createQueryClient(onUnauthenticated: () => void): QueryClient {
  const client = new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 10_000,
        networkMode: 'always',
        retry: (count, error) =>
          isTransient(error) && count < MAX_RETRIES && retryDelayMs(count, error) <= MAX_UNSEEN_DELAY_MS,
        retryDelay: (count, error) => retryDelayMs(count, error),
      },
      mutations: { networkMode: 'always', retry: false },
    },
  });
  const checkError = (error: unknown) => error instanceof ApiProblem && error.status === 401 && onUnauthenticated();
  client.getQueryCache().config.onError = checkError;
  client.getMutationCache().config.onError = checkError;
  return client;
}

/** Return how long to wait before a read is repeated. */
export function retryDelayMs(count: number, error: unknown): number {
  const seconds = error instanceof ApiProblem ? error.retryAfterSeconds : null;
  return seconds === null ? 500 * 3 ** count : seconds * 1000;
}

interface QueryOptions<T> {
  enabled?: boolean;
  /** Return whether the record can still change without the user. It is then read again while the tab is visible. */
  isLive?: (data: T) => boolean;
  /** False if a failure is an answer too, such as that there is no membership. New components then do not read again. */
  retryOnMount?: boolean;
}

/** Read a record with its ETag. */
export function useRecord<T>(
  key: QueryKey,
  call: (client: Client, options: ReadOptions) => Call<T>,
  { enabled = true, isLive, retryOnMount = true }: QueryOptions<T> = {},
) {
  const { client } = useEnvironment();
  const interval = usePollInterval(isLive);
  return useQuery<Answer<T>>({
    queryKey: key,
    queryFn: ({ signal }) => call(client, { signal }).withResponse(),
    enabled,
    retryOnMount,
    refetchInterval: (query) => interval(query.state.data?.data, query.state.dataUpdatedAt),
  });
}

/** Return whether two keys are of the same list, with other filters. */
function isSameList(key: QueryKey, other: QueryKey = []): boolean {
  const isFiltered = [key, other].every((each) => typeof each.at(-1) === 'object');
  return isFiltered && hashKey(key.slice(0, -1)) === hashKey(other.slice(0, -1));
}

/** Read a list page by page. Its former items stay, as `isPlaceholderData`, until those of other filters are read. */
export function useList<T>(
  key: QueryKey,
  call: (client: Client, query: { cursor: string | undefined }, options: ReadOptions) => Call<ListPage<T>>,
  { enabled = true, isLive }: QueryOptions<T[]> = {},
) {
  const { client } = useEnvironment();
  const interval = usePollInterval(isLive);
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => call(client, { cursor: pageParam ?? undefined }, { signal }).then(),
    initialPageParam: null as string | null,
    getNextPageParam: (page: ListPage<T>) => page.nextCursor,
    // Without items, there is nothing to keep, and “Nothing matches” would not be true.
    placeholderData: (former, formerQuery) =>
      isSameList(key, formerQuery?.queryKey) && former?.pages.some((page) => page.items.length > 0) ? former : undefined,
    enabled,
    refetchInterval: ({ state }) => interval(state.data?.pages.flatMap((page) => page.items), state.dataUpdatedAt),
  });
  return { ...query, items: query.data?.pages.flatMap((page) => page.items) ?? [] };
}

function usePollInterval<T>(isLive: ((data: T) => boolean) | undefined) {
  const last = useRef<{ intervalMs: number; data: string; readAt: number } | null>(null);
  return (data: T | undefined, readAt: number): number | false => {
    if (!isLive || data === undefined || !isLive(data)) return false;
    // The cache asks several times after each read.
    if (last.current?.readAt === readAt) return last.current.intervalMs;
    const text = JSON.stringify(data);
    const intervalMs = nextPollMs(last.current?.intervalMs ?? null, last.current?.data !== text);
    last.current = { intervalMs, data: text, readAt };
    return intervalMs;
  };
}

/** Read the queries with these keys again, as far as they are shown. */
export function refresh(cache: QueryClient, keys: readonly QueryKey[]): Promise<unknown> {
  return Promise.all(keys.map((queryKey) => cache.invalidateQueries({ queryKey })));
}

interface ActionOptions<V, T> {
  /** The call. The console also shows it as a curl command. */
  call: (client: Client, values: V, options: CreateOptions) => PromiseLike<T>;
  /** Keys of the queries whose data the call changes. */
  changes: QueryKey[];
  onSuccess?: (result: T, values: V) => unknown;
}

/** Change something. A repeated attempt with the same values has the same idempotency key. */
export function useAction<V, T>({ call, changes, onSuccess }: ActionOptions<V, T>) {
  const { client } = useEnvironment();
  const cache = useQueryClient();
  const attempt = useRef<{ values: string; key: string } | null>(null);
  return useMutation<T, Error, V>({
    mutationFn: (values) => {
      const text = JSON.stringify(values ?? null);
      if (attempt.current?.values !== text) attempt.current = { values: text, key: crypto.randomUUID() };
      return Promise.resolve(call(client, values, { idempotencyKey: attempt.current.key, maxRetries: MAX_POST_RETRIES }));
    },
    onSuccess: async (result, values) => {
      attempt.current = null;
      await refresh(cache, changes);
      await onSuccess?.(result, values);
    },
  });
}
