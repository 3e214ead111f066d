/** What a theme looks like, and how well its texts can be read. */

import { useEffect, useRef } from 'preact/hooks';
import { Status } from '../../ui/status';
import { Table, type Column } from '../../ui/table';
import { COLOR_NAMES, colorPairs, formatRatio, isColor, MIN_CONTRAST_RATIO, type ColorPair } from './contrast';

interface PreviewProps {
  colors: Record<string, string>;
  fonts: Record<string, string>;
  isDark: boolean;
}

const FONTS = ['heading', 'body'];

/** A sample of a page. The policy forbids style attributes, so its properties are set by script, which parses each value. */
export function Preview({ colors, fonts, isDark }: PreviewProps) {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const style = element.current?.style;
    const set = (name: string, value: string) => (value ? style?.setProperty(name, value) : style?.removeProperty(name));
    for (const name of COLOR_NAMES) set(`--theme-${name}`, isColor(colors[name] ?? '') ? (colors[name] ?? '') : '');
    for (const name of FONTS) set(`--theme-font-${name}`, fonts[name] ? `${JSON.stringify(fonts[name])}, system-ui` : '');
  });
  return (
    <figure class={isDark ? 'theme-preview dark' : 'theme-preview'} ref={element} aria-label="Preview of the theme">
      <div class="theme-page">
        <p class="theme-heading">A heading</p>
        <p>
          Text on the background, with <span class="theme-link">a link</span>.
        </p>
        <p class="theme-muted">Muted text</p>
        <div class="theme-surface">Text on a surface</div>
        <div class="buttons">
          {['primary', 'secondary', 'accent'].map((name) => (
            <span key={name} class={`theme-button ${name}`}>
              {name.charAt(0).toUpperCase() + name.slice(1)}
            </span>
          ))}
        </div>
      </div>
    </figure>
  );
}

const COLUMNS: readonly Column<ColorPair>[] = [
  { title: 'Text', kind: 'primary', render: ({ text, background }) => `${text} on ${background}` },
  { title: 'Contrast', kind: 'number', render: ({ ratio }) => formatRatio(ratio) },
  { title: 'WCAG AA', render: ({ ratio }) => (ratio >= MIN_CONTRAST_RATIO ? <Status tone="good">Enough</Status> : <Status tone="bad">Too low</Status>) },
];

/** The contrast of all pairs of text and background. */
export function ContrastTable({ colors }: { colors: Record<string, string> }) {
  const pairs = colorPairs(colors);
  if (pairs.length === 0) {
    return <p class="muted small">The contrast appears here when there are colours for a text and its background, such as text and background.</p>;
  }
  return (
    <div role="status" aria-label="Contrast">
      <Table caption="Contrast" columns={COLUMNS} items={pairs} getKey={({ text, background }) => `${text} ${background}`} />
      <p class="muted small">Text that people can read has a contrast of {MIN_CONTRAST_RATIO}:1.</p>
    </div>
  );
}
