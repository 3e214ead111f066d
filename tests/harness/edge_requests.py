"""Paths that visitors send to an edge, and that must reach the service unchanged."""

from typing import Final

HOSTILE_PATHS: Final = (
    "/",
    "//",
    "/looms",
    "/Looms/",
    "/a+b",
    "/a;b=c",
    "/x&host=evil.example.com",
    "/x&path=/evil&page=2",
    "/x%26host=evil.example.com",
    "/caf%C3%A9",
    "/caf%c3%a9",
    "/%2e%2e/secret",
    "/../secret",
    "/a%2Fb",
    "/a%3Fb",
    "/a%23b",
    "/a%2525b",
    "/100%",
    "/%zz",
    "/%00",
    "/%0d%0aSet-Cookie:x",
    "/a%20b",
    "/%F0%9F%98%80",
    "/sites/resolve",
    "/prod/organizations",
    "/=&=",
    "/'\"()!*~",
    "/{}|^`<>",
    "/" + "%C3%A9" * 300,
)
"""Paths with characters that have a meaning in URLs, percent-encoded or not."""
