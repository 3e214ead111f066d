/** The few icons. Each stands beside text or in a button with a name. */

const PATHS = {
  menu: 'M2 4.5h12M2 8h12M2 11.5h12',
  copy: 'M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z',
  choose: 'M5 6.2 8 3.2l3 3M5 9.8l3 3 3-3',
} as const;

/** An icon, hidden from screen readers. */
export function Icon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
