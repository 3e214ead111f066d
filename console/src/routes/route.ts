/** A screen of the console. */

import type { ComponentType } from 'preact';

/** The groups of the navigation, in their order. Those of an organization, a platform, a site, and of operators. */
export const GROUPS = ['Organization', 'Log', 'Integrations', 'Products', 'Data', 'Platform', 'Site', 'Operations'] as const;

export interface Route {
  /**
   * The path behind `#`. Parameters start with a colon. `/o/:organization` leads to an organization, `/p/:platform` to a
   * platform, `/s/:site` to a site, and `/operate` to what operators do.
   */
  path: string;
  title: string;
  /** The access rule of the operation that fills the screen. Without the role, the shell shows who has it. */
  access: string;
  /** The group in the navigation. A route without a group is reached from other screens. */
  group?: (typeof GROUPS)[number];
  load: () => Promise<{ default: ComponentType }>;
}
