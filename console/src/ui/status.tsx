/** A state: a word, and a colour and shape beside it. */

export type Tone = 'good' | 'warning' | 'bad' | 'neutral';

/** Show a state. */
export function Status({ tone, children }: { tone: Tone; children: string }) {
  return <span class={`status ${tone}`}>{children}</span>;
}

/** Return a code such as `pending_deletion` as words: “Pending deletion”. */
export function toWords(code: string): string {
  const words = code.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
