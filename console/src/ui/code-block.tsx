/** A text with several lines, such as JSON, shown as it is. */

import { CopyButton } from './copy';

interface CodeBlockProps {
  /** What the text is, for screen readers. */
  label: string;
  text: string;
}

/** Show a text, with a button that copies it. */
export function CodeBlock({ label, text }: CodeBlockProps) {
  return (
    <div class="code-panel">
      <pre tabIndex={0} role="group" aria-label={label}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} label={`Copy: ${label}`} />
    </div>
  );
}

/** Return JSON with one property in each line, or the text itself if it is not JSON. */
export function indentJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
