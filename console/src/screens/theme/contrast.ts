/** The contrast between the text and background colours of a theme (WCAG 2.2, 1.4.3), as the service measures it. */

export const MIN_CONTRAST_RATIO = 4.5;

const COLOR = /^#(?:[0-9a-f]{3}|[0-9a-f]{6}|[0-9a-f]{8})$/i;

/** The names of text colours, and of the colours on which each is used. */
const BACKGROUNDS: Record<string, readonly string[]> = {
  text: ['background', 'surface'],
  muted: ['background', 'surface'],
  link: ['background', 'surface'],
  onBackground: ['background'],
  onSurface: ['surface'],
  onPrimary: ['primary'],
  onSecondary: ['secondary'],
  onAccent: ['accent'],
};

/** The names of colours that the preview and the contrast check know. */
export const COLOR_NAMES = [...new Set([...Object.keys(BACKGROUNDS), ...Object.values(BACKGROUNDS).flat()])];

export interface ColorPair {
  text: string;
  background: string;
  ratio: number;
}

/** Return whether text is a colour that a theme accepts. */
export function isColor(text: string): boolean {
  return COLOR.test(text);
}

/** Return a colour as `#rrggbb`. */
export function toSixDigits(color: string): string {
  const digits = color.slice(1);
  const long = digits.length === 3 ? [...digits].map((digit) => digit + digit).join('') : digits.slice(0, 6);
  return `#${long}`;
}

/** Return the contrast ratio of two colours, from 1 to 21. The alpha channel is ignored. */
export function contrastRatio(first: string, second: string): number {
  const [darker = 0, lighter = 0] = [relativeLuminance(first), relativeLuminance(second)].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

function relativeLuminance(color: string): number {
  const value = toSixDigits(color);
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((start) => {
    const channel = parseInt(value.slice(start, start + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Return the pairs of text and background that the colours contain, with their contrast. */
export function colorPairs(colors: Record<string, string>): ColorPair[] {
  return Object.entries(BACKGROUNDS).flatMap(([text, backgrounds]) =>
    backgrounds
      .map((background) => ({ text, background, colors: [colors[text] ?? '', colors[background] ?? ''] as const }))
      .filter((pair) => pair.colors.every(isColor))
      .map((pair) => ({ text, background: pair.background, ratio: contrastRatio(...pair.colors) })),
  );
}

/** Return a ratio such as `4.49:1`. It is truncated, so that it never reads as more than it is. */
export function formatRatio(ratio: number): string {
  return `${Math.trunc(ratio * 100) / 100}:1`;
}
