// An OpenID Connect provider for tests: oidc-provider with its own login pages, on a port of its choice.
// It prints its URL when it listens. POST /rotate makes it sign with a new key and still publish the former one.
// The configuration of tokens comes from the guide. Its access tokens for the guide's resource name the person, and those
// for other resources do not.
// It accepts them at its userinfo endpoint if the resource ends in "+userinfo", as Auth0, Cognito and Keycloak do.
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import Provider from "oidc-provider";

const [algorithm, ...generated] =
  process.argv[2] === "EdDSA" ? ["EdDSA", "ed25519"] : ["RS256", "rsa", { modulusLength: 2048 }];

const guide = readFileSync(new URL("../../docs/guides/issuers/openid-provider.md", import.meta.url), "utf8");
const [, code] = guide.match(/```js\n([^]+?)```/);
const { resourceIndicators, extraTokenClaims } = await import(`data:text/javascript,${encodeURIComponent(code)}`);

const newKey = () => ({
  ...generateKeyPairSync(...generated).privateKey.export({ format: "jwk" }),
  kid: randomUUID(), alg: algorithm, use: "sig",
});

const client = (id, more) => ({
  client_id: id, client_secret: "secret-of-" + id, id_token_signed_response_alg: algorithm, ...more,
});

const provider = (issuer, keys) => {
  const created = new Provider(issuer, {
    jwks: { keys },
    clients: [
      client("web", { redirect_uris: ["http://127.0.0.1/callback"], grant_types: ["authorization_code"] }),
      client("console", { redirect_uris: ["http://127.0.0.1/callback"], token_endpoint_auth_method: "client_secret_post" }),
      client("single-page", {
        redirect_uris: [process.argv[3] ?? "http://127.0.0.1/console"], token_endpoint_auth_method: "none", client_secret: undefined,
      }),
      client("reports", { redirect_uris: [], response_types: [], grant_types: ["client_credentials"] }),
    ],
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["preferred_username", "name"] },
    conformIdTokenClaims: false,
    enabledJWA: { idTokenSigningAlgValues: [algorithm] },
    features: {
      clientCredentials: { enabled: true },
      dPoP: { enabled: true },
      resourceIndicators: {
        ...resourceIndicators,
        getResourceServerInfo: (...found) => ({
          ...resourceIndicators.getResourceServerInfo(...found), jwt: { sign: { alg: algorithm } },
        }),
      },
    },
    extraTokenClaims,
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, preferred_username: id, email: `${id}@example.com`, email_verified: true, groups: ["staff"] }),
    }),
    pkce: { required: () => false },
    clientBasedCORS: () => true,
  });
  // oidc-provider does not store access tokens that are JWTs, and its userinfo endpoint rejects tokens with an `aud`.
  const issued = new Map();
  created.on("access_token.issued", (token) => issued.set(token.jti, token));
  created.AccessToken.find = async (value) => {
    const token = issued.get(JSON.parse(Buffer.from(value.split(".")[1], "base64url")).jti);
    if (token.aud?.endsWith("+userinfo")) token.aud = undefined;
    return token;
  };
  return created.callback();
};

let issuer, keys, handleRequest;
const server = createServer((request, response) => {
  if (request.method === "POST" && request.url === "/rotate") {
    keys = [newKey(), keys[0]];
    handleRequest = provider(issuer, keys);
    response.end();
  } else {
    handleRequest(request, response);
  }
});
server.listen(0, "127.0.0.1", () => {
  issuer = `http://127.0.0.1:${server.address().port}`;
  keys = [newKey()];
  handleRequest = provider(issuer, keys);
  console.log(issuer);
});
