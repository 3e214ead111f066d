/** The theme of a platform, with a preview and the contrast of its colours while they are edited. */

import { operations } from '../../api/access';
import type { Platform, ThemePatch } from '../../api/client';
import { EntriesField } from '../../ui/entries-field';
import { toMergePatch } from '../../ui/field-values';
import { JsonField } from '../../ui/json-field';
import { SelectField } from '../../ui/select-field';
import { Field, type Values } from '../../ui/form';
import type { Fields } from '../../ui/merge';
import { PlatformEditPage } from '../platforms/platform-edit-page';
import { COLOR_NAMES, isColor, toSixDigits } from './contrast';
import { ContrastTable, Preview } from './preview';

const MODES = [
  { value: '', label: 'Not set' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
  { value: 'auto', label: 'As the visitor’s device' },
];

const FONT_NAMES = ['heading', 'body', 'code'];

/** Return the patch for changed fields. Objects are merged by the service, so that removed entries have to be null. */
function toPatch(changes: Fields, { theme }: Platform): ThemePatch {
  const stored = { ...theme } as Fields;
  const entries = Object.entries(changes).map(([name, value]) => [name, value === null ? null : toMergePatch(stored[name], value)]);
  return Object.fromEntries(entries) as ThemePatch;
}

/** The screen. */
export default function Theme() {
  return (
    <PlatformEditPage
      title="Theme"
      description="Colours, fonts and logos, which your front end applies."
      noun="theme"
      rule={operations.update_platform_theme}
      readOnlyText="You can read the theme."
      toFields={({ theme }) => ({ ...theme })}
      save={(client, changes, options, platform) => client.platforms.updateTheme(platform.id, toPatch(changes, platform), options)}
      labels={{ logoUrl: 'Logo', faviconUrl: 'Favicon' }}
    >
      {(values) => (
        <div class="theme">
          <ThemeFields />
          <Aside values={values} />
        </div>
      )}
    </PlatformEditPage>
  );
}

function ThemeFields() {
  return (
    <div class="stack">
      <SelectField name="mode" label="Mode" choices={MODES} />
      <EntriesField
        name="colors"
        label="Colours"
        noun="colour"
        suggestions={COLOR_NAMES}
        initialValue="#808080"
        check={(value) => (isColor(value) ? null : 'This must be a colour as #rgb, #rrggbb or #rrggbbaa.')}
        renderControl={(name, value, setValue) => (
          <input type="color" aria-label={`Pick ${name}`} value={isColor(value) ? toSixDigits(value) : '#000000'} onInput={(event) => setValue(event.currentTarget.value)} />
        )}
      />
      <EntriesField name="fonts" label="Fonts" noun="font" suggestions={FONT_NAMES} initialValue="system-ui" />
      <Field name="logoUrl" label="Logo" type="url" hint="The address of an image." autoComplete="off" />
      <Field name="faviconUrl" label="Favicon" type="url" hint="The address of a small square image." autoComplete="off" />
      <JsonField name="tokens" label="Design tokens" hint="Further values, such as a corner radius, as JSON." />
    </div>
  );
}

function Aside({ values }: { values: Values }) {
  const colors = JSON.parse(values.colors || '{}') as Record<string, string>;
  const fonts = JSON.parse(values.fonts || '{}') as Record<string, string>;
  return (
    <div class="theme-aside stack">
      <Preview colors={colors} fonts={fonts} isDark={values.mode === 'dark'} />
      <ContrastTable colors={colors} />
    </div>
  );
}
