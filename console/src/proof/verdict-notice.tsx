/** The verdict on a file. */

export interface FileVerdict {
  isProven: boolean;
  /** What is proven, or why not. */
  text: string;
}

/** Show a verdict. */
export function VerdictNotice({ verdict }: { verdict: FileVerdict }) {
  return (
    <div class={`notice ${verdict.isProven ? 'good' : 'bad'}`} role="status">
      <strong>{verdict.isProven ? 'Proven in this browser.' : 'Not proven.'}</strong> {verdict.text}
    </div>
  );
}
