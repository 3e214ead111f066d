"use strict";

// Relative URLs, here and in the texts of the document, are relative to /docs, not to /docs/.
history.replaceState(null, "", location.pathname.replace(/\/+$/, "") + location.search + location.hash);

// Runs before the first paint, so a dark page never flashes white.
const dark = matchMedia("(prefers-color-scheme: dark)");
const applyColorScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", applyColorScheme);
applyColorScheme();

// Credentials are sent to this origin only, whatever URL the document or a redirect contains. Unknown query parameters
// are rejected instead of ignored.
function prepareRequest(request) {
  if (new URL(request.url, location.href).origin !== location.origin) {
    throw new Error(`Not sent: ${request.url} is not on this host.`);
  }
  request.headers = { Prefer: "handling=strict", ...request.headers };
  return request;
}

// Opens the operation of a link such as #/organizations/get_organization. The library's own function treats the
// underscores of operation ids as an obsolete form of spaces, and logs a warning.
const openDeepLink = (_, { layoutActions, layoutSelectors }) => (hash) => {
  const names = hash.replace(/^#\/?/, "").split("/");
  if (names[0] === "") return;
  const key = layoutSelectors.isShownKeyFromUrlHashArray(names);
  layoutActions.show(key, true);
  layoutActions.scrollTo(key);
  keepInView(key.join("-"), () => layoutActions.scrollToVirtualizedOperation(key));
};

// The library renders what is near the window. It stops scrolling to an operation after five seconds, although a slow
// device may not have rendered it by then. The content above an operation may still grow after it was scrolled to.
// Scroll until the operation is rendered, and keep it in view until the reader scrolls.
function keepInView(id, scrollToOperation) {
  const observer = new ResizeObserver(() => document.getElementById(id)?.scrollIntoView());
  observer.observe(document.getElementById("reference"));
  scrollToOperation();
  const timer = setInterval(() => (document.getElementById(id) ? clearInterval(timer) : scrollToOperation()), 1000);
  const stop = () => {
    observer.disconnect();
    clearInterval(timer);
  };
  for (const eventName of ["wheel", "touchstart", "keydown", "pointerdown"]) {
    addEventListener(eventName, stop, { once: true });
  }
}
const deepLinks = { statePlugins: { layout: { wrapActions: { parseDeepLinkHash: openDeepLink } } } };

addEventListener("DOMContentLoaded", () => {
  SwaggerUIBundle({
    dom_id: "#reference",
    url: "openapi.json",
    deepLinking: true,
    plugins: [deepLinks],
    filter: true,
    displayRequestDuration: true,
    showCommonExtensions: true,
    defaultModelsExpandDepth: 0,
    persistAuthorization: false,
    queryConfigEnabled: false,
    validatorUrl: null,
    requestInterceptor: prepareRequest,
    syntaxHighlight: { activated: true, theme: dark.matches ? "nord" : "idea" },
  });
});
