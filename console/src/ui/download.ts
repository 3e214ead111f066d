/** Files that the browser saves. */

/** Save a text as a file. */
export function downloadText(name: string, text: string, mediaType: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: mediaType }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser has started the download when the next task runs.
  setTimeout(() => URL.revokeObjectURL(url));
}

/** Open a URL from data, such as that of a file. Only `https:` and, on one's own machine, `http:` are opened. */
export function openDownload(url: string): void {
  if (!['https:', 'http:'].includes(new URL(url).protocol)) throw new Error('The address of the file is not one of the web.');
  const link = document.createElement('a');
  link.href = url;
  link.rel = 'noopener noreferrer';
  link.click();
}
