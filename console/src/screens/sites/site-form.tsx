/** The fields of a site, in the dialogs that create and change one. */

import type { SiteCreate } from '../../api/client';
import { useList } from '../../api/queries';
import { Field, type Values } from '../../ui/form';
import { useOrganizationId } from '../../ui/place';
import { SelectField } from '../../ui/select-field';

/** The fields of a new site. */
export const NEW_SITE: Values = { name: '', slug: '', description: '', defaultLocale: 'en', platformId: '' };

/** Return the fields of a site as the API takes them. */
export function toSiteFields({ name = '', slug, description, defaultLocale, platformId }: Values): SiteCreate & { slug?: string } {
  return {
    name,
    ...(slug && { slug }),
    description: description || null,
    defaultLocale: defaultLocale || 'en',
    platformId: platformId || null,
  };
}

/** The fields. */
export function SiteFields({ slugHint }: { slugHint: string }) {
  return (
    <>
      <Field name="name" label="Name" required autoComplete="off" />
      <Field name="slug" label="Slug" hint={slugHint} autoComplete="off" />
      <Field name="description" label="Description" type="textarea" />
      <Field name="defaultLocale" label="Language" required hint="The language tag of its pages, such as en or pt-BR." />
      <PlatformField />
    </>
  );
}

function PlatformField() {
  const organizationId = useOrganizationId();
  const query = useList(
    ['platforms', 'of', organizationId],
    (client, page, options) => client.platforms.list({ ...page, organizationId, limit: 100 }, options),
    { enabled: organizationId !== '' },
  );
  const choices = query.items.map((each) => ({ value: each.id, label: each.name }));
  return (
    <SelectField
      name="platformId"
      label="Platform"
      choices={[{ value: '', label: 'None' }, ...choices]}
      hint="The site has the theme and the verified domain of its platform. Only admins of the platform can choose it."
    />
  );
}
