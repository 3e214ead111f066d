/** The dialog with what crawlers get: robots.txt and the sitemap. */

import type { Site } from '../../api/client';
import { useRecord } from '../../api/queries';
import { CurlButton } from '../../ui/curl-button';
import { DetailDialog } from '../../ui/dialog';
import { RecordView } from '../../ui/table';

/** Show both files as they are served. */
export function CrawlersDialog({ site, onClose }: { site: Site; onClose: () => void }) {
  const isPublished = site.status === 'published';
  const robots = useRecord(['sites', site.id, 'robots.txt'], (client, options) => client.sites.getRobotsTxt(site.id, options));
  const sitemap = useRecord(['sites', site.id, 'sitemap.xml'], (client, options) => client.sites.getSitemap(site.id, {}, options), {
    enabled: isPublished,
  });
  return (
    <DetailDialog title="What crawlers get" onClose={onClose} actions={<CurlButton call={(client) => client.sites.getRobotsTxt(site.id)} />}>
      <h3>robots.txt</h3>
      <RecordView query={robots}>{(text) => <Verbatim label="robots.txt" text={text} />}</RecordView>
      <h3>sitemap.xml</h3>
      {isPublished ? (
        <RecordView query={sitemap}>{(text) => <Verbatim label="sitemap.xml" text={text} />}</RecordView>
      ) : (
        <p class="muted">The site has a sitemap once it is published.</p>
      )}
    </DetailDialog>
  );
}

function Verbatim({ label, text }: { label: string; text: string }) {
  return (
    <pre class="verbatim framed" role="region" aria-label={label} tabIndex={0}>
      {text}
    </pre>
  );
}
