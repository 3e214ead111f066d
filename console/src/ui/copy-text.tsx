/** A text such as an id or a URL, with a button that copies it. */

import { CopyButton } from './copy';

/** Show a text with its button. */
export function CopyText({ text, label }: { text: string; label: string }) {
  return (
    <span class="copy-text">
      <code>{text}</code>
      <CopyButton text={text} label={label} />
    </span>
  );
}
