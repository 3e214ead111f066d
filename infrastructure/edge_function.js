// The CloudFront function of the edge, in the runtime cloudfront-js-2.0. It turns a visitor's request for a site into a
// request for the document of its host and path: GET /sites/resolve?host=...&path=...

const MAX_PATH_CHARACTERS = 2000; // As GET /sites/resolve accepts them.
const SITEMAP_PATH = '/sitemap.xml';

function handler(event) {
  const request = event.request;
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return refuse(405, 'Only GET and HEAD are allowed.', { allow: { value: 'GET, HEAD' } });
  }
  const host = hostName(request.headers.host);
  if (host === null) {
    return refuse(400, 'The host is not a host name.', {});
  }
  if (request.uri.length > MAX_PATH_CHARACTERS) {
    return refuse(414, 'The path is too long.', {});
  }
  const path = percentEncodeOrNull(request.uri);
  if (path === null) {
    return refuse(400, 'The path contains invalid characters.', {});
  }
  // Everything that decides the answer is in the query, which is the cache key. The visitor's own query is dropped.
  const query = { host: { value: host }, path: { value: path } };
  const page = request.querystring.page;
  if (request.uri === SITEMAP_PATH && page && /^[1-9][0-9]{0,4}$/.test(page.value) && !page.multiValue) {
    query.page = { value: page.value };
  }
  request.querystring = query;
  request.uri = '/sites/resolve';
  request.headers.accept = { value: 'text/html' };
  return request;
}

// Returns the name in a Host header in lower case, without a port and a trailing dot, or null if it is not a host name.
function hostName(header) {
  const name = (header ? header.value : '').toLowerCase().replace(/:[0-9]*$/, '').replace(/\.$/, '');
  return /^[a-z0-9._-]{1,253}$/.test(name) ? name : null;
}

function percentEncodeOrNull(text) {
  try {
    return encodeURIComponent(text);
  } catch (error) { // Half of a surrogate pair.
    return null;
  }
}

function refuse(statusCode, text, headers) {
  return {
    statusCode: statusCode,
    headers: Object.assign({ 'content-type': { value: 'text/plain' }, 'cache-control': { value: 'no-store' } }, headers),
    body: text + '\n',
  };
}
