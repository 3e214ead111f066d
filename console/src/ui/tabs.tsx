/** Links between the parts of a screen. Each part has an address. */

interface TabsProps {
  label: string;
  tabs: readonly { href: string; title: string; isCurrent: boolean }[];
}

/** A row of links, of which one leads to what is shown. */
export function Tabs({ label, tabs }: TabsProps) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ href, title, isCurrent }) => (
        <a key={href} href={href} aria-current={isCurrent ? 'page' : undefined}>
          {title}
        </a>
      ))}
    </nav>
  );
}
