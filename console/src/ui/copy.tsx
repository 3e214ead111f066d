/** Buttons that copy text. */

import { Icon } from './icons';
import { showToast } from './toast';

/** Copy a text such as an id or a link. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  return (
    <button type="button" class="quiet" title={label} aria-label={label} onClick={() => void copyText(text)}>
      <Icon name="copy" />
    </button>
  );
}

/** Copy a text, and say so. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    showToast('Copied.');
  } catch {
    showToast('The browser does not allow copying. Select the text instead.');
  }
}
