/** Blocks as a page shows them, except that Markdown stays as it is written. All of it is text: nothing is interpreted. */

import type { Block } from '../../api/client';
import { WebLink } from '../../ui/web-link';
import { titleOf } from './blocks';

/** Show blocks. */
export function BlockPreview({ blocks }: { blocks: readonly Block[] }) {
  return (
    <>
      {blocks.map((block) => (
        <PreviewedBlock key={block.id} block={block} />
      ))}
    </>
  );
}

function PreviewedBlock({ block }: { block: Block }) {
  switch (block.type) {
    case 'heading':
      // The outline of the screen is not that of the page.
      return <p class={`as-heading level-${block.level}`}>{block.text}</p>;
    case 'text':
      return <p class="as-written">{block.text}</p>;
    case 'list':
      return block.ordered ? <ol class="as-list numbered">{toItems(block.items)}</ol> : <ul class="as-list">{toItems(block.items)}</ul>;
    case 'quote':
      return (
        <blockquote>
          {block.text}
          {block.cite && <footer>{block.cite}</footer>}
        </blockquote>
      );
    case 'code':
      return <pre class="verbatim">{block.text}</pre>;
    case 'image':
      return <Described title={block.alt || 'Image without description'} address={block.url} />;
    case 'embed':
      return <Described title="Embedded content" address={block.url} />;
    case 'button':
      return <Described title={block.label} address={block.url} />;
    case 'divider':
      return <hr />;
    case 'columns':
      return (
        <div class="as-columns">
          {block.columns.map((column, index) => (
            <div key={index}>
              <BlockPreview blocks={column} />
            </div>
          ))}
        </div>
      );
    default:
      return <p class="small muted">{titleOf(block)}, which pages do not show</p>;
  }
}

function toItems(items: readonly string[]) {
  return items.map((item, index) => <li key={index}>{item}</li>);
}

function Described({ title, address }: { title: string; address: string }) {
  return (
    <p class="as-object">
      <strong>{title}</strong>
      <span class="small break">
        <WebLink href={address} />
      </span>
    </p>
  );
}
