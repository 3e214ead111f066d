/** Which modules are loaded together, as one file. Small files compress badly. */

/** What every page and the first screen show. */
const BASE = ['address', 'page', 'polling', 'status', 'table', 'time', 'token'];

/** What the frame of the console and its first screen need besides. */
const FRAME = ['access', 'dialog-buttons', 'lazy', 'lists', 'place'];

/** What the pages of signed links share with screens. */
const LINKS = ['attempts', 'delivery-status', 'details', 'modal', 'tile'];

/** What the destinations of events have in common. */
const DESTINATIONS = ['events-field', 'rotate-dialog', 'trial-dialog'];

/** Forms, filters and dialogs. */
const FORMS = [
  'action-dialog', 'check-field', 'curl', 'curl-button', 'delete-dialog', 'dialog', 'edit-conflict', 'edit-form', 'edits', 'entries-field',
  'field-notes', 'field-values', 'filters', 'form', 'form-dialog', 'items-field', 'json-field', 'lazy-dialogs', 'lines', 'merge', 'merge-dialog',
  'move-buttons', 'name-filters', 'names', 'roles', 'select-field', 'suggest-filter', 'tabs', 'time-field', 'time-filter', 'unsaved',
];

/** What several screens show besides forms. */
const PARTS = [
  'changes', 'code-block', 'copy-text', 'delete-section', 'download', 'event-patterns', 'event-type-filter', 'event-types',
  'file-field', 'invite-dialog', 'job-status', 'tree', 'web-link',
];

/**
 * The folders of screens that are one file. Any other folder is a file of its own. Together, the files are smallest if each
 * is nearly as large as a screen may be.
 */
const AREAS: Record<string, readonly string[]> = {
  events: ['event-types', 'webhooks'],
  integrations: ['api-keys', 'channels', 'log-streams', 'service-keys'],
  logs: ['erasures', 'exports', 'log', 'log-verifications', 'reconciliations', 'system-log', 'verification'],
  organization: [
    'dead-letters', 'domains', 'invitations', 'members', 'migrations', 'organization-search', 'overview', 'service-status', 'settings',
  ],
  places: ['place-members', 'platform-members', 'spaces', 'taxonomy'],
  platform: ['custom-domain', 'home', 'modules', 'navigation', 'platforms', 'project-blocks', 'theme'],
  publications: ['backfill', 'leads', 'redirects', 'reference', 'research', 'sites'],
};

/** The folders with the first screens, of which each module that is loaded on its own is a file. */
const SPLIT_FOLDERS = ['organizations', 'sign-in'];

/** What the first screen loads when somebody needs it. */
const START = ['create-dialog', 'deleted-organizations', 'my-invitations'];

/** Modules of screens that are loaded on their own, because other areas need them or because they are large. */
const SPLIT_MODULES = ['blocks', 'block-preview', 'compare', 'comparison'];

/** What shows the result of a verification of the log, which is loaded only when somebody asks for it. */
const PROOF = ['badge', 'checks', 'receipt', 'verdict-notice', 'verifier-note'];

/** The verifier of the log, which the worker needs, too. It uses nothing of the page. */
const VERIFIER = /src\/(?:log\/[\w-]+|proof\/(?:origin|prove))\.ts$/;

/** What reads and keeps what is verified. */
const CHECKS = ['check-log', 'fetch-log', 'known-checkpoints', 'run', 'verify-file', 'verify-receipt'];

/** Return the name of the file with the modules of a folder of screens. */
export function chunkOfFolder(folder: string): string {
  return Object.entries(AREAS).find(([, folders]) => folders.includes(folder))?.[0] ?? folder;
}

/** What several hosted pages need. */
const HOSTED = ['client', 'link', 'link-page', 'token'];

const isIn = (folder: string, names: readonly string[]) => (id: string) =>
  names.some((name) => new RegExp(`src/${folder}/${name}\\.tsx?$`).test(id));

const folderOf = (id: string) => /src\/screens\/([\w-]+)\//.exec(id)?.[1];

function isOfArea(id: string): boolean {
  const folder = folderOf(id);
  return folder !== undefined && !SPLIT_FOLDERS.includes(folder) && !isIn('screens/pages', SPLIT_MODULES)(id);
}

export const CHUNKS = [
  { name: 'base', test: isIn('(?:ui|api)', BASE) },
  { name: 'frame', test: isIn('(?:ui|api)', FRAME) },
  { name: 'links', test: isIn('(?:ui|api)', LINKS) },
  { name: 'hosted', test: isIn('hosted', HOSTED) },
  { name: 'verifier', test: VERIFIER },
  { name: 'checks', test: isIn('proof', CHECKS) },
  { name: 'proof', test: isIn('proof', PROOF) },
  { name: 'destinations', test: isIn('(?:ui|api)', DESTINATIONS) },
  { name: 'forms', test: isIn('(?:ui|api)', FORMS) },
  { name: 'start', test: isIn('screens/organizations', START) },
  { name: 'parts', test: isIn('(?:ui|api)', PARTS) },
  { name: (id: string) => chunkOfFolder(folderOf(id) ?? ''), debugName: 'screens', test: isOfArea },
];
