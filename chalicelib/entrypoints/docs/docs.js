"use strict";

// What is relative here and in the document's texts is meant beside /docs, not below /docs/.
history.replaceState(null, "", location.pathname.replace(/\/+$/, "") + location.search + location.hash);

// Runs before anything is painted, so that a dark page never flashes white.
const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", paint);
paint();

// A credential leaves for this origin only, whatever a document or a redirect of ours may name.
function sameOriginOnly(request) {
  if (new URL(request.url, location.href).origin !== location.origin) {
    throw new Error(`Not sent: ${request.url} is not on this host.`);
  }
  return request;
}

// Opens what a link such as #/organizations/get_organization names. The library's own takes the underscores of our ids
// for an obsolete way to write spaces, and complains.
const openDeepLink = (_, { layoutActions, layoutSelectors }) => (hash) => {
  const names = hash.replace(/^#\/?/, "").split("/");
  if (names[0] === "") return;
  const key = layoutSelectors.isShownKeyFromUrlHashArray(names);
  layoutActions.show(key, true);
  layoutActions.scrollTo(key);
  layoutActions.scrollToVirtualizedOperation(key);
  keepInSight();
};

// What is above an operation may still grow when it is scrolled to: it stays in sight until the reader moves.
function keepInSight() {
  const growing = new ResizeObserver(() => document.querySelector(".opblock.is-open")?.scrollIntoView());
  growing.observe(document.getElementById("reference"));
  for (const moved of ["wheel", "touchstart", "keydown", "pointerdown"]) {
    addEventListener(moved, () => growing.disconnect(), { once: true });
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
    requestInterceptor: sameOriginOnly,
    syntaxHighlight: { activated: true, theme: dark.matches ? "nord" : "idea" },
  });
});
