/** The contrast of colours, with the values of WCAG 2.2. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { colorPairs, contrastRatio, formatRatio, isColor, toSixDigits } from '../src/screens/theme/contrast.ts';

test('the contrast of two colours is that of WCAG', () => {
  assert.equal(contrastRatio('#000', '#ffffff'), 21);
  assert.equal(contrastRatio('#abcdef', '#abcdef'), 1);
  assert.equal(formatRatio(contrastRatio('#777777', '#ffffff')), '4.47:1');
  assert.equal(formatRatio(contrastRatio('#ffffff80', '#767676')), '4.54:1');
});

test('a ratio is truncated, so that it never reads as enough', () => {
  assert.equal(formatRatio(4.4999), '4.49:1');
});

test('pairs are those of which both colours are known and complete', () => {
  const pairs = colorPairs({ text: '#111111', background: '#ffffff', muted: '#77', onPrimary: '#fff' });
  assert.deepEqual(pairs.map(({ text, background }) => [text, background]), [['text', 'background']]);
  assert.ok(!isColor('#ff') && !isColor('red') && isColor('#FFF'));
  assert.equal(toSixDigits('#abc'), '#aabbcc');
});
