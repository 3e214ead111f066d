/** Creates the methods of operations from their table. */

import type { AtriumSettings } from './options.ts';
import { Call, ListCall, type Page } from './pagination.ts';
import { Transport, type AnyOptions } from './transport.ts';

type Method = (...args: unknown[]) => Call<unknown>;
interface Group {
  [name: string]: Method | Group;
}
export interface OperationTable {
  readonly [name: string]: string | OperationTable;
}

/**
 * Create the methods of the operations in a table, by group.
 *
 * `Atrium` has all operations. Use this function for a small page, with the part of `OPERATIONS` that it calls.
 */
export function createResources<Resources extends object>(table: OperationTable, settings: AtriumSettings): Resources {
  return createGroup(table, new Transport(settings)) as Resources;
}

function createGroup(table: OperationTable, transport: Transport): Group {
  const members = Object.entries(table).map(([name, each]) => [
    name,
    typeof each === 'string' ? createMethod(each, transport) : createGroup(each, transport),
  ]);
  return Object.fromEntries(members) as Group;
}

/** Create the method of an operation from its line in the table, such as `GET /organizations/{organization_id}`. */
function createMethod(line: string, transport: Transport): Method {
  const [method = '', path = '', ...words] = line.split(' ');
  const names = Array.from(path.matchAll(/\{(\w+)\}/g), (match) => match[1] ?? '');
  const hasBody = words.includes('body');
  const isPage = words.includes('page');
  const isText = words.includes('text');
  const hasContent = hasBody || isPage || words.includes('query');

  return (...args) => {
    const pathValues = Object.fromEntries(names.map((name, index) => [name, args[index] as string]));
    const content = hasContent ? (args[names.length] as object | undefined) : undefined;
    const options = (args[names.length + Number(hasContent)] ?? {}) as AnyOptions;
    const body = hasBody ? content : undefined;
    const send = (query: object | undefined) =>
      transport.send({ method, path, pathValues, query, body, isText }, options);
    if (isPage && !options.ifNoneMatch) return createListCall(send as SendPage, content ?? {});
    const call = new Call(() => send(hasBody ? options.query : content));
    // The request is sent even if nobody waits for its answer.
    void call.withResponse();
    return call;
  };
}

type SendPage = (query: object) => ReturnType<ListCall<Page<unknown>>['withResponse']>;

function createListCall(send: SendPage, query: object): ListCall<Page<unknown>> {
  return new ListCall(
    () => send(query),
    (cursor) => createListCall(send, { ...query, cursor }),
  );
}
