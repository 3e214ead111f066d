/** Two revisions of a page, compared. This is loaded only with a comparison. */

import type { Revision } from '../../api/client';
import { useRecord } from '../../api/queries';
import { Section } from '../../ui/page';
import { useSiteId } from '../../ui/place';
import { Empty, Failed, Loading } from '../../ui/states';
import { Status, type Tone } from '../../ui/status';
import { Tile } from '../../ui/tile';
import { Time, TimeLabel } from '../../ui/time';
import { BlockPreview } from './block-preview';
import { titleOf } from './blocks';
import { compareBlocks, compareSettings, type BlockChange, type FieldChange } from './compare';

interface ComparisonProps {
  pageId: string;
  fromId: string;
  toId: string;
}

/** Show what changed from one revision to another. */
export default function Comparison({ pageId, fromId, toId }: ComparisonProps) {
  const older = useRevision(pageId, fromId);
  const newer = useRevision(pageId, toId);
  const failed = [older, newer].find((query) => query.error && !query.data);
  if (failed) return <Failed error={failed.error} onRetry={() => failed.refetch()} />;
  if (!older.data || !newer.data) return <Loading />;
  return <Changes older={older.data.data} newer={newer.data.data} />;
}

function useRevision(pageId: string, id: string) {
  const siteId = useSiteId();
  return useRecord(['sites', siteId, 'pages', pageId, 'revisions', id], (client, options) =>
    client.sites.pages.revisions.get(siteId, pageId, id, options),
  );
}

function Changes({ older, newer }: { older: Revision; newer: Revision }) {
  const settings = compareSettings(older, newer);
  const blocks = compareBlocks(older.blocks, newer.blocks);
  const changed = blocks.filter((each) => each.kind !== 'same');
  const count = (kind: BlockChange['kind']) => changed.filter((each) => each.kind === kind).length;
  const textChanges = changed.filter((each) => each.fields.length > 0).length;
  return (
    <>
      <dl class="tiles">
        <Tile label={<TimeLabel>From</TimeLabel>} note={older.title}>
          <Time value={older.createdAt} />
        </Tile>
        <Tile label={<TimeLabel>To</TimeLabel>} note={newer.title}>
          <Time value={newer.createdAt} />
        </Tile>
        <Tile label="Blocks">{`${count('added')} added, ${count('removed')} removed`}</Tile>
        <Tile label="Of the others">{`${textChanges} changed, ${count('moved')} moved`}</Tile>
      </dl>
      {settings.length > 0 && (
        <Section title="Title and settings">
          <div class="paper">
            <FieldChanges fields={settings} />
          </div>
        </Section>
      )}
      <Section title="Blocks">
        {changed.length === 0 ? (
          <Empty title="The blocks are the same">{settings.length ? 'Only the title or the settings differ.' : 'Nothing differs.'}</Empty>
        ) : (
          <ol class="paper comparison">
            {blocks.map((each) => (
              <ComparedBlock key={`${each.block.id}-${each.column}-${each.kind}`} change={each} />
            ))}
          </ol>
        )}
      </Section>
    </>
  );
}

const TONES: Record<BlockChange['kind'], Tone> = {
  added: 'good',
  removed: 'bad',
  changed: 'warning',
  moved: 'warning',
  same: 'neutral',
};
const WORDS: Record<BlockChange['kind'], string> = {
  added: 'Added',
  removed: 'Removed',
  changed: 'Changed',
  moved: 'Moved',
  same: 'Not changed',
};

function ComparedBlock({ change }: { change: BlockChange }) {
  const { block, column, depth, kind, fields } = change;
  const name = column === null ? titleOf(block) : `Column ${column}`;
  return (
    <li class={`compared depth-${Math.min(depth, 6)}`}>
      <div class="block-head small">
        <span>{name}</span>
        <Status tone={TONES[kind]}>{kind === 'moved' && fields.length ? 'Moved and changed' : WORDS[kind]}</Status>
      </div>
      {fields.length > 0 && <FieldChanges fields={fields} />}
      {fields.length === 0 && column === null && block.type !== 'columns' && (
        <div class={kind}>
          <BlockPreview blocks={[block]} />
        </div>
      )}
    </li>
  );
}

function FieldChanges({ fields }: { fields: readonly FieldChange[] }) {
  return (
    <dl class="stack">
      {fields.map(({ label, parts }) => (
        <div key={label}>
          <dt class="small muted">{label}</dt>
          <dd class="as-written">
            {parts.map((part, index) => {
              if (part.kind === 'added') return <ins key={index}>{part.text}</ins>;
              return part.kind === 'removed' ? <del key={index}>{part.text}</del> : <span key={index}>{part.text}</span>;
            })}
          </dd>
        </div>
      ))}
    </dl>
  );
}
