/** The home page of a platform: its layout, its blocks, and what it opens. */

import { operations } from '../../api/access';
import type { HomePatch, Platform } from '../../api/client';
import { useList } from '../../api/queries';
import { SelectField } from '../../ui/select-field';
import { Field } from '../../ui/form';
import { ItemInput, ItemsField, SettingsInput } from '../../ui/items-field';
import { Section } from '../../ui/page';
import { useOrganizationId, useOrganizationRole, usePlatformId } from '../../ui/place';
import { PlatformEditPage } from '../platforms/platform-edit-page';

type Block = Platform['home']['blocks'][number];

/** The screen. */
export default function Home() {
  const choices = useOpenedChoices();
  return (
    <PlatformEditPage
      title="Home page"
      description="Your front end renders the home page from its layout and blocks."
      noun="home page"
      rule={operations.update_platform_home}
      readOnlyText="You can read the home page."
      toFields={({ home }) => ({ ...home })}
      save={(client, changes, options, { id }) => client.platforms.updateHome(id, changes as HomePatch, options)}
      labels={{ spaceId: 'Opens the space', siteId: 'Opens the site' }}
    >
      {(values) => (
        <>
          <Field name="layout" label="Layout" hint="A name that your front end knows, such as two-columns." autoComplete="off" />
          <div class="field-row">
            <SelectField name="spaceId" label="Opens the space" choices={choices.spaces} />
            <SelectField name="siteId" label="Opens the site" choices={choices.sites} />
          </div>
          <Blocks isEmpty={values.blocks === '[]'} />
        </>
      )}
    </PlatformEditPage>
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
