/** A client of the Atrium API. `atrium-client/webhooks` verifies messages to a webhook. */

export { Atrium } from './client.ts';
export { OPERATIONS } from './generated/operations.ts';
export { createResources, type OperationTable } from './groups.ts';
export { API_VERSION } from './generated/resources.ts';
export type * from './generated/resources.ts';
export type * from './generated/schema.ts';
export type * from './options.ts';
export { Call, ListCall, type Answer, type Page as ListPage } from './pagination.ts';
export * from './problems.ts';
