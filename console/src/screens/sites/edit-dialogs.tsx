/** The dialogs that change a site, and its instructions for crawlers. */

import type { ComponentChildren } from 'preact';
import type { Site, SitePatch } from '../../api/client';
import { EditDialog } from '../../ui/edit-form';
import { Field } from '../../ui/form';
import type { Fields } from '../../ui/merge';
import { useSiteId } from '../../ui/place';
import { SiteFields } from './site-form';

const LABELS = {
  defaultLocale: 'Language',
  platformId: 'Platform',
  'robots/disallow': 'Disallowed paths',
  'robots/extra': 'Further lines of robots.txt',
};

/** Change the name, the address and the platform of a site. */
export function SiteDialog({ onClose }: { onClose: () => void }) {
  return (
    <SiteEditDialog
      title="Edit the site"
      toFields={({ name, slug, description, defaultLocale, platformId }) => ({ name, slug, description, defaultLocale, platformId })}
      toPatch={(changes) => changes as SitePatch}
      onClose={onClose}
    >
      <SiteFields slugHint="Part of its host. The former host redirects for 90 days." />
    </SiteEditDialog>
  );
}

/** Return the patch for changed fields of the instructions for crawlers, which are replaced as a whole. */
function toRobotsPatch(changes: Fields, { robots }: Site): SitePatch {
  const { 'robots/disallow': lines = robots.disallow.join('\n'), 'robots/extra': extra = robots.extra } = changes;
  const disallow = String(lines ?? '').split('\n').map((line) => line.trim());
  return { robots: { disallow: disallow.filter(Boolean), extra: extra as string | null } };
}

/** Change what crawlers are asked to leave alone. */
export function RobotsDialog({ onClose }: { onClose: () => void }) {
  return (
    <SiteEditDialog
      title="Edit the instructions for crawlers"
      toFields={({ robots }) => ({ 'robots/disallow': robots.disallow.join('\n'), 'robots/extra': robots.extra })}
      toPatch={toRobotsPatch}
      onClose={onClose}
    >
      <Field
        name="robots/disallow"
        label={LABELS['robots/disallow']}
        type="textarea"
        hint="One path a line. Each applies to everything that begins with it. * stands for any text."
      />
      <Field name="robots/extra" label={LABELS['robots/extra']} type="textarea" />
    </SiteEditDialog>
  );
}

interface SiteEditDialogProps {
  title: string;
  toFields: (site: Site) => Fields;
  toPatch: (changes: Fields, site: Site) => SitePatch;
  onClose: () => void;
  children: ComponentChildren;
}

function SiteEditDialog({ title, toFields, toPatch, onClose, children }: SiteEditDialogProps) {
  const siteId = useSiteId();
  return (
    <EditDialog
      title={title}
      recordKey={['sites', siteId]}
      read={(client, options) => client.sites.get(siteId, options)}
      toFields={toFields}
      save={(client, changes, options, site) => client.sites.update(siteId, toPatch(changes, site), options)}
      changes={[['sites', siteId], ['organizations']]}
      subject="the site"
      labels={LABELS}
      savedText="The site was saved."
      onClose={onClose}
    >
      {() => children}
    </EditDialog>
  );
}
