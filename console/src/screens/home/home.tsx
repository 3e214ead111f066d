/** The home page of a platform: its layout, its blocks, and what it opens. */

import { operations } from '../../api/access';
import type { HomePatch, Platform } from '../../api/client';
import { useList } from '../../api/queries';
import { EditPage } from '../../ui/edit-form';
import { SelectField } from '../../ui/select-field';
import { Field } from '../../ui/form';
import { ItemInput, ItemsField, SettingsInput } from '../../ui/items-field';
import { PageHeader, Section } from '../../ui/page';
import { useCan, useOrganizationId, useOrganizationRole, usePlatformId } from '../../ui/place';
import { RoleNotice } from '../../ui/role-notice';

type Block = Platform['home']['blocks'][number];

/** The screen. */
export default function Home() {
  const platformId = usePlatformId();
  const canEdit = useCan(operations.update_platform_home);
  const choices = useOpenedChoices();
  return (
    <>
      <PageHeader title="Home page" description="Your front end renders the home page from its layout and blocks." />
      <RoleNotice rule={operations.update_platform_home}>You can read the home page.</RoleNotice>
      <EditPage
        canEdit={canEdit}
        recordKey={['platforms', platformId]}
        read={(client, options) => client.platforms.get(platformId, options)}
        toFields={({ home }: Platform) => ({ ...home })}
        save={(client, changes, options) => client.platforms.updateHome(platformId, changes as HomePatch, options)}
        changes={[['platforms', platformId]]}
        subject="the home page"
        savedText="The home page was saved."
        labels={{ spaceId: 'Opens the space', siteId: 'Opens the site' }}
      >
        {(values) => (
          <>
            <Field name="layout" label="Layout" hint="A name that your front end knows, such as two-columns." autoComplete="off" />
            <div class="field-row">
              <SelectField name="spaceId" label="Opens the space" choices={withStored(choices.spaces, values.spaceId)} />
              <SelectField name="siteId" label="Opens the site" choices={withStored(choices.sites, values.siteId)} />
            </div>
            <Blocks isEmpty={values.blocks === '[]'} />
          </>
        )}
      </EditPage>
    </>
  );
}

function Blocks({ isEmpty }: { isEmpty: boolean }) {
  return (
    <Section title="Blocks">
      {isEmpty && <p class="muted">No blocks yet. A block is a part of the page, such as a calendar.</p>}
      <ItemsField<Block> name="blocks" label="Blocks" noun="block" create={createBlock} nameOf={({ id }) => id || 'new block'}>
        {(block, change) => (
          <>
            <div class="item-row">
              <ItemInput label="Id" value={block.id} onInput={(id) => change({ id })} isCode />
              <ItemInput label="Type" value={block.type} onInput={(type) => change({ type })} isCode />
            </div>
            <SettingsInput key={block.id} value={block.settings} onInput={(settings) => change({ settings: settings as Block['settings'] })} />
          </>
        )}
      </ItemsField>
    </Section>
  );
}

function createBlock(): Block {
  return { id: `block-${crypto.randomUUID().slice(0, 4)}`, type: '', settings: {} };
}

const NOTHING = { value: '', label: 'None' };

/** The spaces and sites that the home page can open. */
function useOpenedChoices() {
  const platformId = usePlatformId();
  const organizationId = useOrganizationId();
  const isOfOrganization = useOrganizationRole() !== null;
  const spaces = useList(['platforms', platformId, 'spaces'], (client, page, options) => client.platforms.spaces.list(platformId, page, options));
  const sites = useList(
    ['organizations', organizationId, 'sites'],
    (client, page, options) => client.organizations.sites.list(organizationId, page, options),
    { enabled: isOfOrganization },
  );
  const toChoices = (items: readonly { id: string; name: string }[]) => [NOTHING, ...items.map(({ id, name }) => ({ value: id, label: name }))];
  return { spaces: toChoices(spaces.items), sites: toChoices(sites.items) };
}

/** Add the stored choice, if the user cannot see what it names. */
function withStored(choices: { value: string; label: string }[], stored: string | undefined) {
  return !stored || choices.some(({ value }) => value === stored) ? choices : [...choices, { value: stored, label: stored }];
}
