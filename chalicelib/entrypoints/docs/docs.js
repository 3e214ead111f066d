"use strict";

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

addEventListener("DOMContentLoaded", () => {
  SwaggerUIBundle({
    dom_id: "#reference",
    url: "openapi.json",
    deepLinking: true,
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
