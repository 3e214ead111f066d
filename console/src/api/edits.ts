/** Edits of a record that are never lost: `If-Match`, and a merge after somebody else's change. */

import { useQuery, useQueryClient } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { refresh, useAction, type QueryKey } from './queries';
import { hasStatus } from './problems';
import type { Answer, Call, ChangeOptions, Client, ReadOptions } from './client';
import { useEnvironment } from './context';

/** A call that reads a record with its ETag. */
export type Readable<T> = Pick<Call<T>, 'withResponse'>;

/** Read a record that is about to be edited. It stays as it was read, so that other changes to it are noticed. */
export function useEditBase<T>(key: QueryKey, read: (client: Client, options: ReadOptions) => Readable<T>) {
  const { client } = useEnvironment();
  return useQuery<Answer<T>>({
    queryKey: ['edited', ...key],
    queryFn: ({ signal }) => read(client, { signal }).withResponse(),
    gcTime: 0,
    staleTime: Infinity,
  });
}

/** Changed fields of a record. */
export type Changes<T> = { [K in keyof T]?: T[K] | undefined };

interface EditOptions<T> {
  /** The record as it was when the user started to edit. */
  base: Answer<T>;
  read: (client: Client) => Readable<T>;
  save: (client: Client, changes: Changes<T>, options: ChangeOptions) => PromiseLike<unknown>;
  changes: QueryKey[];
  /** Called at the end. `isChanged`: false if the user kept all of somebody else's change. */
  onSaved: (isChanged: boolean) => void;
}

/** Somebody else's change, beside that of the user. */
export interface EditConflict<T> {
  yours: Changes<T>;
  theirs: Answer<T>;
}

/** Save an edit on the condition that the record is as it was. After a conflict, `conflict` has both versions. */
export function useEdit<T extends object>({ base, read, save, changes, onSaved }: EditOptions<T>) {
  const { client } = useEnvironment();
  const cache = useQueryClient();
  const [conflict, setConflict] = useState<EditConflict<T> | null>(null);
  const action = useAction<{ changes: Changes<T>; etag: string | null }, boolean>({
    call: async (_, values, options) => {
      try {
        // A repetition would find the change of the first attempt, and take it for that of somebody else.
        await save(client, values.changes, { ...options, ifMatch: values.etag, maxRetries: 0 });
        return true;
      } catch (error) {
        if (!hasStatus(error, 412)) throw error;
        setConflict({ yours: values.changes, theirs: await read(client).withResponse() });
        return false;
      }
    },
    changes: [],
    // After a conflict, the record stays as it was when the user started to edit.
    onSuccess: (isSaved) => (isSaved ? finish(true) : undefined),
  });
  const finish = async (isChanged: boolean) => {
    await refresh(cache, changes);
    setConflict(null);
    onSaved(isChanged);
  };
  const apply = (merged: Changes<T>) => {
    if (Object.keys(merged).length > 0) action.mutate({ changes: merged, etag: conflict?.theirs.etag ?? null });
    else void finish(false);
  };
  const submit = (edited: Changes<T>) => action.mutate({ changes: edited, etag: base.etag });
  const dismiss = () => setConflict(null);
  return { submit, apply, conflict, dismiss, isPending: action.isPending, error: action.error };
}
