/** Reference data: countries, currencies, languages, time zones and cities. */

import type { City, Country, Currency, Language, Timezone } from '../../api/client';
import { linkTo, useChoice } from '../../ui/address';
import { TextFilter } from '../../ui/filters';
import { PageHeader } from '../../ui/page';
import { Tabs } from '../../ui/tabs';
import type { Column } from '../../ui/table';
import { TimeFilter } from '../../ui/time-filter';
import { ReferenceList } from './reference-list';

const TITLES = { countries: 'Countries', currencies: 'Currencies', languages: 'Languages', timezones: 'Time zones', cities: 'Cities' } as const;
const KINDS = Object.keys(TITLES) as (keyof typeof TITLES)[];

const code = (text: string | null) => text && <code>{text}</code>;

const COUNTRIES: readonly Column<Country>[] = [
  { title: 'Currencies', render: (each) => each.currencies.join(', ') },
  { title: 'Languages', render: (each) => each.languages.slice(0, 4).join(', ') },
  { title: 'Calling code', render: (each) => each.callingCode ?? '' },
  { title: 'Codes', render: (each) => code(`${each.id} ${each.alpha3} ${each.numeric}`) },
];
const CURRENCIES: readonly Column<Currency>[] = [
  { title: 'Symbol', render: (each) => each.symbol },
  { title: 'Decimals', kind: 'number', render: (each) => each.minorUnits ?? 'None' },
  { title: 'Code', render: (each) => code(each.id) },
];
const LANGUAGES: readonly Column<Language>[] = [
  { title: 'Own name', render: (each) => each.nativeName ?? '' },
  { title: 'Two letters', render: (each) => code(each.alpha2) },
  { title: 'Three letters', render: (each) => code(each.id) },
];
const TIMEZONES: readonly Column<Timezone>[] = [
  { title: 'Countries', render: (each) => each.countries.slice(0, 6).join(', ') },
  { title: 'Standard', render: (each) => each.utcOffset },
  { title: 'Summer', render: (each) => each.dstOffset ?? '' },
  { title: 'At the time', render: (each) => each.offset ?? '' },
];
const CITIES: readonly Column<City>[] = [
  { title: 'Country', render: (each) => each.countryId ?? '' },
  { title: 'Time zone', render: (each) => each.timezone },
  { title: 'Inhabitants', kind: 'number', render: (each) => each.population.toLocaleString('en') },
];

/** The screen. */
export default function Reference() {
  const [chosen] = useChoice('kind', KINDS);
  const kind = chosen ?? 'countries';
  const tabs = KINDS.map((each) => ({ href: linkTo('/reference', { kind: each }), title: TITLES[each], isCurrent: each === kind }));
  return (
    <>
      <PageHeader title="Reference data" description="The codes that the API uses for places, money and languages. They change only with a release." />
      <Tabs label="Reference data" tabs={tabs} />
      <div class="filters">
        <TextFilter parameter="q" label="Search" placeholder="Name or code" />
        {kind !== 'countries' && <TextFilter parameter="countryId" label="Country" placeholder="Code such as CH" />}
        {kind === 'timezones' && <TimeFilter parameter="at" label="Offset at" />}
      </div>
      <Records kind={kind} />
    </>
  );
}

function Records({ kind }: { kind: keyof typeof TITLES }) {
  switch (kind) {
    case 'countries':
      return <ReferenceList kind={kind} noun="country" columns={COUNTRIES} list={(client) => client.reference.countries} />;
    case 'currencies':
      return <ReferenceList kind={kind} noun="currency" columns={CURRENCIES} list={(client) => client.reference.currencies} />;
    case 'languages':
      return <ReferenceList kind={kind} noun="language" columns={LANGUAGES} list={(client) => client.reference.languages} />;
    case 'timezones':
      return <ReferenceList kind={kind} noun="time zone" columns={TIMEZONES} list={(client) => client.reference.timezones} />;
    case 'cities':
      return <ReferenceList kind={kind} noun="city" columns={CITIES} list={(client) => client.reference.cities} />;
  }
}
